-- Whether a request may be of another chat of the same session than the one before it.
alter table session_request add column apart boolean not null default false;
