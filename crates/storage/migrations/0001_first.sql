-- The first tables. Ids are the 16 bytes of a uuid, times are microseconds since 1970 in UTC, JSON is text.
-- Join tables (agent_block, agent_tool, agent_tag) belong to whoever owns the row that they hang on.

create table organization (
    id blob not null primary key,
    name text not null,
    created_at bigint not null
);

create table user_account (
    id blob not null primary key,
    organization_id blob not null references organization (id),
    name text not null,
    created_at bigint not null
);

create table identity (
    id blob not null primary key,
    organization_id blob not null references organization (id),
    key text not null,
    name text not null,
    kind text not null,
    created_at bigint not null,
    unique (organization_id, key)
);

create table agent (
    -- Breaks ties between agents that were made in the same microsecond.
    ordinal integer primary key autoincrement,
    id blob not null unique,
    organization_id blob not null references organization (id),
    created_by blob not null,
    name text not null,
    description text,
    kind text not null,
    system text not null,
    llm_config text not null,
    embedding text,
    response_format text,
    compaction_settings text,
    tool_rules text not null,
    metadata text not null,
    timezone text not null,
    message_buffer_autoclear boolean not null,
    max_files_open bigint not null,
    per_file_view_window_char_limit bigint not null,
    hidden boolean not null,
    -- No foreign key: agent and conversation point at each other. The store checks it when a commit ends.
    default_conversation_id blob not null,
    created_at bigint not null,
    updated_at bigint not null
);
create index agent_by_age on agent (organization_id, created_at, ordinal);
create index agent_by_name on agent (organization_id, name);

create table agent_tag (
    agent_id blob not null references agent (id),
    tag text not null,
    position bigint not null,
    primary key (agent_id, tag)
) without rowid;
create index agent_tag_by_tag on agent_tag (tag);

create table conversation (
    id blob not null primary key,
    organization_id blob not null,
    agent_id blob not null references agent (id),
    identity_id blob,
    summary text,
    -- Messages ever kept, in context or not.
    message_count bigint not null default 0,
    -- The context list: pairs [first, last] of numbers, each for all messages of the conversation from one to the other.
    context text not null default '[]',
    created_at bigint not null,
    updated_at bigint not null,
    unique (agent_id, id)
);

create table message (
    sequence_id integer primary key,
    id blob not null unique,
    organization_id blob not null,
    agent_id blob not null,
    conversation_id blob not null,
    identity_id blob,
    role text not null,
    content text not null,
    -- Null where there are none, which is most rows.
    tool_calls text,
    tool_returns text,
    name text,
    model text,
    otid text,
    run_id blob,
    step_id blob,
    created_at bigint not null,
    foreign key (agent_id, conversation_id) references conversation (agent_id, id)
);
create unique index message_by_conversation on message (conversation_id, sequence_id);

-- The largest number that a deleted message had: numbers are never given twice.
create table message_floor (
    only_row bigint not null primary key check (only_row = 1),
    value bigint not null
);
insert into message_floor (only_row, value) values (1, 0);

create table block (
    id blob not null primary key,
    organization_id blob not null references organization (id),
    created_by blob not null,
    label text not null,
    value text not null,
    char_limit bigint not null,
    description text,
    read_only boolean not null,
    metadata text not null,
    version bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    constraint value_within_limit check (length(value) <= char_limit)
);

create table block_history (
    block_id blob not null references block (id),
    version bigint not null,
    organization_id blob not null,
    label text not null,
    value text not null,
    description text,
    char_limit bigint not null,
    -- `tool` or `api`; a tool's run is in run_id.
    editor text not null,
    run_id blob,
    user_id blob not null,
    at bigint not null,
    primary key (block_id, version)
);

create table agent_block (
    agent_id blob not null references agent (id),
    block_id blob not null references block (id),
    label text not null,
    position bigint not null,
    unique (agent_id, label),
    unique (agent_id, block_id)
);
create index agent_block_by_block on agent_block (block_id);

create table tool (
    id blob not null primary key,
    organization_id blob not null references organization (id),
    created_by blob not null,
    name text not null,
    description text not null,
    kind text not null,
    parameters text not null,
    tags text not null,
    return_char_limit bigint not null,
    default_requires_approval boolean not null,
    enable_parallel_execution boolean not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (organization_id, name)
);

create table agent_tool (
    agent_id blob not null references agent (id),
    tool_id blob not null references tool (id),
    position bigint not null,
    primary key (agent_id, tool_id)
) without rowid;
create index agent_tool_by_tool on agent_tool (tool_id);

create table run (
    -- Runs and their steps are written one after the other; clustered by a random id they would be scattered.
    ordinal integer primary key,
    id blob not null unique,
    organization_id blob not null,
    agent_id blob not null,
    conversation_id blob not null,
    status text not null,
    stop_reason text,
    error text,
    background boolean not null,
    prompt_tokens bigint not null,
    completion_tokens bigint not null,
    total_tokens bigint not null,
    cached_input_tokens bigint not null,
    cache_write_tokens bigint not null,
    reasoning_tokens bigint not null,
    step_count bigint not null,
    created_at bigint not null,
    completed_at bigint,
    foreign key (agent_id, conversation_id) references conversation (agent_id, id)
);
create index run_by_agent on run (agent_id, completed_at);
create index run_open on run (created_at) where status in ('created', 'running');

-- Clustered by run, because steps are only ever read together with their run.
create table step (
    run_ordinal bigint not null references run (ordinal),
    id blob not null,
    organization_id blob not null,
    agent_id blob not null,
    model text not null,
    context_window bigint not null,
    prompt_tokens bigint not null,
    completion_tokens bigint not null,
    total_tokens bigint not null,
    cached_input_tokens bigint not null,
    cache_write_tokens bigint not null,
    reasoning_tokens bigint not null,
    stop_reason text,
    status text not null,
    created_at bigint not null,
    primary key (run_ordinal, id)
) without rowid;
