-- Revocations as a log that verifiers follow. An entry has no place when it is committed; places are given afterwards, by
-- one process at a time, so that nothing ever comes below what was read.

alter table revocation drop constraint revocation_kind;
alter table revocation add constraint revocation_kind check (kind in (
  'TOKEN', 'SESSION', 'CREDENTIAL', 'PRINCIPAL', 'TENANT', 'CONTEXT', 'APP', 'AUTHORITY', 'POLICY', 'KEY', 'ISSUER_EPOCH'
));
-- Only tokens that were issued before are refused; null refuses every one.
alter table revocation add column issued_before timestamptz;
alter table revocation add constraint revocation_epoch check (kind <> 'ISSUER_EPOCH' or issued_before is not null);
-- Null waits for its place.
alter table revocation add column seq bigint check (seq > 0);
create unique index revocation_seq on revocation (seq);
create index revocation_pending on revocation (kind, key, app_id) where seq is null;

-- One row, updated first by whoever gives places: its lock. The name is another one when places begin anew.
create table revocation_log (
  id integer primary key check (id = 1),
  name text not null,
  head bigint not null check (head >= 0)
);
insert into revocation_log (id, name, head) values (1, gen_random_uuid()::text, 0);
