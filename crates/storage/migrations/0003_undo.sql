-- What an undo or a redo brought back; null for every other change. From here on `editor` is one of `tool`, `api`,
-- `sleeptime`, `import`, `undo` and `redo`; a tool's and a sleeptime agent's run is in run_id.
alter table block_history add column restored_version bigint;
