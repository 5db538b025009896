-- Keys of clients. Of a key's text only a digest is kept, so that nobody can read a key out of the store.
create table api_key (
    id blob not null primary key,
    organization_id blob not null references organization (id),
    created_by blob not null,
    name text not null,
    -- SHA-256 of the key's text.
    digest blob not null unique,
    -- Its first characters, by which people tell keys apart.
    beginning text not null,
    -- `agents` (those of api_key_agent, so nobody where that has no rows), `all_agents` or `letta`.
    scope text not null,
    created_at bigint not null,
    revoked_at bigint,
    -- Written now and then, not with each use.
    last_used_at bigint
);
-- The name of a revoked key is free again.
create unique index api_key_by_name on api_key (organization_id, name) where revoked_at is null;

create table api_key_agent (
    api_key_id blob not null references api_key (id),
    agent_id blob not null references agent (id),
    position bigint not null,
    primary key (api_key_id, agent_id)
);
create index api_key_agent_by_agent on api_key_agent (agent_id);
