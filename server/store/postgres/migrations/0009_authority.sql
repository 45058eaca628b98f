-- Versions of what may be done. A version rises in the transaction that changes what it is of; nothing is issued for less
-- than the minimum, which is the version that authority was last taken away at. What has no row is at 0.

-- Of a principal in an app: grants, memberships, status. No foreign keys: ids are never used again, and whoever locks a
-- principal does not wait for those who only count.
create table authority_version (
  principal_id text not null,
  app_id text not null,
  version bigint not null,
  min_version bigint not null check (min_version <= version),
  primary key (principal_id, app_id)
);

-- Of an app: roles, permissions, scopes.
create table policy_version (
  app_id text primary key,
  version bigint not null,
  min_version bigint not null check (min_version <= version)
);

-- AUTHORITY is of a principal in an app, POLICY of an app; both name the least version that is still good.
alter table revocation drop constraint revocation_kind_check;
alter table revocation drop constraint revocation_pkey;
alter table revocation add column app_id text not null default '';
alter table revocation add column min_version bigint;
alter table revocation add primary key (kind, key, app_id);
alter table revocation add constraint revocation_kind
  check (kind in ('TOKEN', 'SESSION', 'CREDENTIAL', 'PRINCIPAL', 'AUTHORITY', 'POLICY'));
alter table revocation add constraint revocation_minimum
  check ((kind in ('AUTHORITY', 'POLICY')) = (min_version is not null) and (kind = 'AUTHORITY') = (app_id <> ''));
