-- What an undo or a redo brought back; null for every other change. From here on `editor` is one of `tool`, `api`,
-- `sleeptime`, `import`, `undo` and `redo`; a tool's and a sleeptime agent's run is in run_id.
alter table block_history add column restored_version bigint;

-- Blocks that an agent had and was parted from, so that it can have them back. A row goes when that happens.
create table block_detachment (
    agent_id blob not null references agent (id),
    block_id blob not null references block (id),
    organization_id blob not null,
    -- As in block_history.
    editor text not null,
    run_id blob,
    restored_version bigint,
    at bigint not null,
    primary key (agent_id, block_id)
) without rowid;
create index block_detachment_by_block on block_detachment (block_id);
