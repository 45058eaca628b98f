-- Identity, sessions, audit and signing keys. Portable SQL: no triggers, functions, sequences or partitions of our own.
-- Ids are made by the program and kept as the API shows them. Times are instants, written in whole milliseconds.

create table migration_checksum (
  name text primary key,
  sha256 text not null check (length(sha256) = 64)
);

create table app (
  id text primary key,
  name text not null,
  status text not null check (status in ('ACTIVE', 'SUSPENDED', 'ARCHIVED')),
  audiences text[] not null,
  signup_enabled boolean not null,
  session_idle_seconds_web integer not null check (session_idle_seconds_web > 0),
  session_idle_seconds_native integer not null check (session_idle_seconds_native > 0),
  session_absolute_seconds integer not null check (session_absolute_seconds > 0),
  retry_window_seconds integer not null check (retry_window_seconds between 0 and 86400),
  allowed_origins text[] not null
);

create table provider_client (
  id text primary key,
  app_id text not null references app (id),
  provider text not null check (provider in ('IDP_A', 'IDP_B', 'IDP_C')),
  platform text not null check (platform in ('ANDROID', 'IOS', 'WEB')),
  status text not null check (status in ('ACTIVE', 'DISABLED')),
  client_id text not null,
  issuers text[] not null,
  canonical_issuer text not null,
  audiences text[] not null,
  authorized_parties text[] not null,
  nonce_mode text not null check (nonce_mode in ('RAW', 'SHA256_HEX', 'SHA256_B64URL')),
  require_nonce boolean not null,
  hosted_domains text[] not null,
  signup_enabled boolean not null,
  redirect_uris text[] not null,
  jwks_uri text not null,
  token_endpoint text,
  client_secret_sealed bytea,
  provider_tenant text check (provider_tenant <> ''),
  unique (app_id, provider, platform)
);

create table identity (
  id text primary key,
  status text not null check (status in ('ACTIVE', 'DELETION_PENDING', 'DELETED')),
  primary_email text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table provider_account (
  id text primary key,
  identity_id text not null references identity (id),
  provider text not null check (provider in ('IDP_A', 'IDP_B', 'IDP_C')),
  issuer text not null,
  subject text not null,
  provider_tenant text check (provider_tenant <> ''),
  email text,
  status text not null check (status in ('LINKED', 'REVOKED', 'BLOCKED', 'UNLINKED')),
  created_at timestamptz not null,
  last_used_at timestamptz
);
create unique index provider_account_key on provider_account (provider, issuer, subject, (coalesce(provider_tenant, '')));
create index provider_account_identity on provider_account (identity_id);

create table principal (
  id text primary key,
  kind text not null check (kind in ('USER', 'SERVICE', 'AGENT', 'ACTOR')),
  identity_id text unique references identity (id),
  status text not null check (status in ('ACTIVE', 'SUSPENDED', 'LOCKED', 'DEACTIVATED', 'DELETED')),
  check (kind <> 'USER' or identity_id is not null)
);

create table membership (
  id text primary key,
  principal_id text not null references principal (id),
  app_id text not null references app (id),
  tenant_id text,
  context_id text,
  status text not null check (
    status in ('INVITED', 'REQUESTED', 'ACTIVE', 'SUSPENDED', 'REMOVED', 'DECLINED', 'REJECTED', 'EXPIRED')
  ),
  profile jsonb not null
);
-- Who was removed and comes back gets a new row.
create unique index membership_place on membership (
  principal_id, app_id, (coalesce(tenant_id, '')), (coalesce(context_id, ''))
) where status <> 'REMOVED';
create index membership_principal on membership (principal_id, app_id);

create table session (
  id text primary key,
  principal_id text not null references principal (id),
  identity_id text not null references identity (id),
  app_id text not null references app (id),
  tenant_id text,
  context_id text,
  provider_account_id text not null references provider_account (id),
  provider_client_id text not null references provider_client (id),
  platform text not null check (platform in ('ANDROID', 'IOS', 'WEB')),
  amr text[] not null,
  audiences text[] not null,
  auth_time_at timestamptz not null,
  status text not null check (status in ('ACTIVE', 'REVOKED', 'COMPROMISED')),
  created_at timestamptz not null,
  last_refreshed_at timestamptz,
  idle_expires_at timestamptz not null,
  absolute_expires_at timestamptz not null,
  rotation integer not null check (rotation >= 0),
  device_id text not null,
  device_label text not null,
  device_os text not null,
  device_app_version text not null,
  user_agent text not null,
  cookie_mode boolean not null,
  revoked_at timestamptz,
  revoke_reason text,
  check ((status = 'ACTIVE') = (revoked_at is null))
) with (fillfactor = 80);
create index session_listing on session (principal_id, app_id, created_at desc, id desc) where status = 'ACTIVE';
create index session_identity on session (identity_id) where status = 'ACTIVE';
create index session_end on session (absolute_expires_at);

create table refresh_token (
  id text primary key,
  session_id text not null references session (id) on delete cascade,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  family_id text not null,
  previous_token_id text,
  created_at timestamptz not null,
  used_at timestamptz,
  rotated_at timestamptz,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  retry_key_hash bytea check (octet_length(retry_key_hash) = 32),
  successor_sealed bytea,
  confirmed_at timestamptz
) with (fillfactor = 80);
create index refresh_token_session on refresh_token (session_id);
create index refresh_token_end on refresh_token (expires_at);
create index refresh_token_sealed on refresh_token (rotated_at) where successor_sealed is not null;
-- One chain a family: a token has one successor at most, whatever the program does.
create unique index refresh_token_previous on refresh_token (previous_token_id);

create table id_token_use (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  expires_at timestamptz not null
);
create index id_token_use_end on id_token_use (expires_at);

-- No foreign keys: what happened outlives whom it happened to.
create table audit_event (
  id text primary key,
  occurred_at timestamptz not null,
  kind text not null,
  outcome text not null check (outcome in ('SUCCESS', 'FAILURE', 'DENIED')),
  reason text,
  app_id text,
  tenant_id text,
  context_id text,
  actor_principal_id text,
  subject_principal_id text,
  subject_identity_id text,
  session_id text,
  target_type text,
  target_id text,
  request_id text not null,
  request_route text not null,
  request_ip_truncated text,
  check ((target_type is null) = (target_id is null))
);
create index audit_event_app on audit_event (app_id, occurred_at desc, id desc);

create table signing_key (
  kid text primary key,
  status text not null check (status in ('NEXT', 'CURRENT', 'PREVIOUS', 'RETIRED', 'COMPROMISED')),
  public_jwk jsonb not null,
  private_sealed bytea not null,
  created_at timestamptz not null,
  activated_at timestamptz,
  retired_at timestamptz
);
create unique index signing_key_current on signing_key (status) where status = 'CURRENT';

-- One row, updated first by whoever changes the set of keys: its lock.
create table signing_key_set (
  id integer primary key check (id = 1),
  version integer not null
);
insert into signing_key_set (id, version) values (1, 0);
