-- Where a device without a stream is woken up: one row a device. due_at is null while no push is scheduled.
create table push_endpoint (
  device_id text primary key,
  registration_id bytea not null check (octet_length(registration_id) = 16),
  session_id text not null,
  kind text not null check (kind in ('WEB_PUSH', 'WEBHOOK')),
  url text not null,
  tries integer not null,
  not_before timestamptz not null,
  due_at timestamptz
);
create index push_endpoint_due on push_endpoint (due_at) where due_at is not null;
