-- An entry that changes keeps the place that it has until it gets its new one: whoever reads from the beginning meanwhile
-- is told of it, too.

alter table revocation add column is_pending boolean not null default true;
update revocation set is_pending = false where seq is not null;
drop index revocation_pending;
-- A program of before takes the place away instead.
create index revocation_pending on revocation (kind, key, app_id) where is_pending or seq is null;
