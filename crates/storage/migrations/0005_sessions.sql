-- Sessions of the OpenAI gateway, blocks of people and of conversations, and messages that are set aside.

-- `kept`, `superseded` (a client went back to before it) or `example` (context only, never remembered).
alter table message add column standing text not null default 'kept';

-- Who an agent's messages belong to, which a search must know before it finds any of them.
create index message_by_person on message (agent_id, identity_id, organization_id) where identity_id is not null;

create table session (
    organization_id blob not null,
    agent_id blob not null,
    -- A digest: what names the session is not kept.
    key blob not null,
    conversation_id blob not null unique,
    origin text not null,
    label text not null,
    -- Digests of the client's system text, as the overlay block holds it and as it was last sent as a preface.
    overlay blob,
    preface blob,
    created_at bigint not null,
    -- Not indexed: it is written with each request and listed only for an operator.
    last_used_at bigint not null,
    unique (agent_id, key),
    foreign key (agent_id, conversation_id) references conversation (agent_id, id)
);

-- Requests of sessions, in order.
create table session_request (
    ordinal integer primary key,
    organization_id blob not null,
    conversation_id blob not null references conversation (id),
    -- The first message that came of it.
    message_id blob not null references message (id),
    text_digest blob,
    run_id blob,
    body_digest blob,
    idempotency blob,
    -- What the message's standing says, so that a transcript is read without its messages.
    superseded boolean not null default false,
    created_at bigint not null
);
create index session_request_by_conversation on session_request (conversation_id, ordinal);
create index session_request_by_message on session_request (message_id);
create unique index session_request_by_idempotency on session_request (organization_id, idempotency)
    where idempotency is not null;

-- Blocks that a person has of their own with one agent. As in agent_block, the label is that of the block.
create table person_block (
    agent_id blob not null references agent (id),
    identity_id blob not null references identity (id),
    block_id blob not null references block (id),
    label text not null,
    position bigint not null,
    unique (agent_id, identity_id, label),
    unique (agent_id, identity_id, block_id)
);
create index person_block_by_block on person_block (block_id);

-- Blocks that only one conversation is shown.
create table conversation_block (
    conversation_id blob not null references conversation (id),
    block_id blob not null references block (id),
    label text not null,
    position bigint not null,
    unique (conversation_id, label),
    unique (conversation_id, block_id)
);
create index conversation_block_by_block on conversation_block (block_id);
