-- Archives with their passages, and the search index. What the index holds can be made again from messages and
-- passages; nothing else may be kept only there.

create table archive (
    id blob not null primary key,
    organization_id blob not null references organization (id),
    created_by blob not null,
    name text not null,
    description text,
    embedding text not null,
    vector_db_provider text not null,
    metadata text not null,
    passage_count bigint not null default 0,
    created_at bigint not null,
    updated_at bigint not null
);
create index archive_by_age on archive (organization_id, created_at);

-- How many passages have a tag, so that an agent can be told its tags without reading its archives.
create table archive_tag (
    archive_id blob not null references archive (id),
    tag text not null,
    passage_count bigint not null,
    primary key (archive_id, tag)
) without rowid;

create table agent_archive (
    agent_id blob not null references agent (id),
    archive_id blob not null references archive (id),
    position bigint not null,
    primary key (agent_id, archive_id)
) without rowid;
create index agent_archive_by_archive on agent_archive (archive_id);

create table passage (
    -- Never given twice, because the search index knows passages by it.
    number integer primary key autoincrement,
    id blob not null unique,
    organization_id blob not null,
    created_by blob not null,
    archive_id blob not null references archive (id),
    text text not null,
    tags text not null,
    metadata text not null,
    created_at bigint not null
);
create index passage_by_archive on passage (archive_id, number);

-- The index reads an agent's messages from where it stopped, whatever their conversation.
create index message_by_agent on message (agent_id, sequence_id);

-- Postings of a stretch of rows. A scope is an agent (its messages) or an archive (its passages).
create table search_segment (
    scope_id blob not null,
    first_number bigint not null,
    last_number bigint not null,
    organization_id blob not null,
    documents bigint not null,
    content blob not null,
    primary key (scope_id, first_number)
);

-- Vectors of a stretch of rows, by the model that made them.
create table search_vectors (
    scope_id blob not null,
    embedding text not null,
    first_number bigint not null,
    last_number bigint not null,
    organization_id blob not null,
    documents bigint not null,
    dimensions bigint not null,
    content blob not null,
    primary key (scope_id, embedding, first_number)
);

-- Rows that were deleted after they were indexed.
create table search_gone (
    ordinal integer primary key autoincrement,
    scope_id blob not null,
    organization_id blob not null,
    number bigint not null
);
create index search_gone_by_scope on search_gone (scope_id, ordinal);
