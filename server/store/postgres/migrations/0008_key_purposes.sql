-- Signing keys of several purposes, each with its own one that signs. Those that were there sign access tokens.

alter table signing_key add column purpose text not null default 'ACCESS'
  check (purpose in ('ACCESS', 'STATEMENT', 'CONTEXT'));
drop index signing_key_current;
create unique index signing_key_current on signing_key (purpose) where status = 'CURRENT';
