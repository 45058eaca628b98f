-- Scopes, personal access tokens, service accounts, delegation and revocation. Portable SQL, as 0001.

alter table app add column scopes jsonb not null default '[]';
alter table membership add column scopes text[] not null default '{}';

create table pat (
  id text primary key,
  principal_id text not null references principal (id),
  identity_id text not null references identity (id),
  app_id text not null references app (id),
  tenant_id text,
  context_id text,
  name text not null,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  last4 text not null check (length(last4) = 4),
  allowed_audiences text[] not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoke_reason text check (revoke_reason in ('REVOKED', 'LEAKED', 'PRINCIPAL_ENDED')),
  check ((revoked_at is null) = (revoke_reason is null))
) with (fillfactor = 80);
create index pat_listing on pat (principal_id, app_id, created_at desc, id desc);
create index pat_end on pat (expires_at);

create table service_account (
  id text primary key,
  principal_id text not null unique references principal (id),
  app_id text not null references app (id),
  tenant_id text,
  name text not null,
  client_id text not null unique,
  status text not null check (status in ('ACTIVE', 'DISABLED')),
  auth_methods text[] not null,
  allowed_audiences text[] not null,
  scopes text[] not null,
  default_scopes text[] not null,
  created_at timestamptz not null
);
create index service_account_listing on service_account (app_id, created_at desc, id desc);

-- What a service is: one owner in the whole installation.
create table owned_audience (
  audience text primary key,
  service_account_id text not null references service_account (id)
);
create index owned_audience_account on owned_audience (service_account_id);

create table service_secret (
  id text primary key,
  service_account_id text not null references service_account (id),
  secret_hash bytea not null unique check (octet_length(secret_hash) = 32),
  hint text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  last_used_at timestamptz,
  revoked_at timestamptz
) with (fillfactor = 80);
create index service_secret_account on service_secret (service_account_id);
create index service_secret_end on service_secret (expires_at);

create table service_key (
  service_account_id text not null references service_account (id),
  kid text not null,
  x text not null,
  y text not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  primary key (service_account_id, kid)
);

create table delegation_policy (
  id text primary key,
  app_id text not null references app (id),
  tenant_id text,
  actor_principal_id text not null references principal (id),
  audiences text[] not null,
  scopes text[] not null,
  max_seconds integer not null check (max_seconds between 1 and 300),
  allow_standing boolean not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index delegation_policy_actor on delegation_policy (actor_principal_id, app_id) where revoked_at is null;
create index delegation_policy_listing on delegation_policy (app_id, created_at desc, id desc);

create table delegation (
  id text primary key,
  policy_id text not null references delegation_policy (id),
  app_id text not null references app (id),
  tenant_id text,
  context_id text,
  subject_principal_id text not null references principal (id),
  actor_principal_id text not null references principal (id),
  audiences text[] not null,
  scopes text[] not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index delegation_listing on delegation (subject_principal_id, app_id, created_at desc, id desc);

-- What verifiers must refuse although its signature and its times are good.
create table revocation (
  kind text not null check (kind in ('TOKEN', 'SESSION', 'CREDENTIAL', 'PRINCIPAL')),
  key text not null,
  expires_at timestamptz not null,
  primary key (kind, key)
);
create index revocation_end on revocation (expires_at);

create table client_assertion_use (
  client_id text not null,
  jti text not null,
  expires_at timestamptz not null,
  primary key (client_id, jti)
);
create index client_assertion_use_end on client_assertion_use (expires_at);
