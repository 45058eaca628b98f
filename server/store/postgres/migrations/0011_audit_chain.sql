-- The audit, sealed and chained. Events are only ever inserted; links follow moments later, in tables of their own.

-- What names a person is sealed under the data key of key_owner. The stamp is an HMAC under a key that is not here.
alter table audit_event add column key_owner text;
alter table audit_event add column personal_sealed bytea;
alter table audit_event add column stamp bytea check (length(stamp) = 32);

-- Addresses that nobody can erase are not kept. The column is written by programs of before only.
update audit_event set request_ip_truncated = null where request_ip_truncated is not null;
create index audit_event_plain_address on audit_event (id) where request_ip_truncated is not null;

-- A key that was erased leaves its row, so that there is never another of the same owner.
create table audit_data_key (
  owner text primary key,
  key_sealed bytea,
  created_at timestamptz not null,
  erased_at timestamptz,
  check ((key_sealed is null) = (erased_at is not null))
);
-- Keys of a day, for what is of nobody known.
create index audit_data_key_day on audit_data_key (created_at) where owner like 'day:%' and key_sealed is not null;

-- Events that are in no chain yet.
create table audit_pending (
  event_id text primary key
);
insert into audit_pending (event_id) select id from audit_event;

-- One chain for each tenant, one for what else is of an app, and one ('-') for the rest. No link is ever changed.
create table audit_link (
  shard text not null,
  seq bigint not null check (seq > 0),
  event_id text not null unique,
  event_hash bytea not null check (length(event_hash) = 32),
  linked_at timestamptz not null,
  hash bytea not null check (length(hash) = 32),
  primary key (shard, seq)
);

-- Signed statements of where the chains ended.
create table audit_checkpoint (
  number bigint primary key check (number > 0),
  created_at timestamptz not null,
  jws text not null,
  stamp bytea not null check (length(stamp) = 32)
);
create table audit_checkpoint_head (
  number bigint not null references audit_checkpoint (number),
  shard text not null,
  seq bigint not null,
  hash bytea not null check (length(hash) = 32),
  primary key (number, shard)
);
create index audit_checkpoint_head_shard on audit_checkpoint_head (shard, number);

-- Where a chain begins whose older links were dropped.
create table audit_start (
  shard text not null,
  seq bigint not null check (seq > 0),
  hash bytea not null check (length(hash) = 32),
  dropped_at timestamptz not null,
  stamp bytea not null check (length(stamp) = 32),
  primary key (shard, seq)
);

-- One row, updated first by whoever links: its lock.
create table audit_chain (
  id integer primary key check (id = 1),
  version integer not null
);
insert into audit_chain (id, version) values (1, 0);
