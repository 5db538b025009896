-- Work on stored rows that is done once for an organisation, such as giving older agents a new tool. What stands here
-- is never done again, so that nobody's later decision is undone by a start.
create table upkeep (
    organization_id blob not null references organization (id),
    name text not null,
    done_at bigint not null,
    primary key (organization_id, name)
);
