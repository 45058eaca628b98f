-- What administrators manage: apps and their provider clients, tenants, contexts, roles, permissions, grants, invitations;
-- and what becomes of accounts and identities.

alter table app add column allowed_redirect_uris text[] not null default '{}';
alter table app add column require_same_device boolean not null default false;
alter table app add column manages_identity boolean not null default false;
alter table app add column is_installation boolean not null default false;
alter table app add column created_at timestamptz not null default '2026-01-01T00:00:00Z';
alter table app add column updated_at timestamptz not null default '2026-01-01T00:00:00Z';
-- At most one app is the installation's own.
create unique index app_installation on app (is_installation) where is_installation;
create index app_listing on app (created_at desc, id desc);

alter table provider_client add column client_key_id text;
alter table provider_client add column revocation_endpoint text;
alter table provider_client add column project_url text;
alter table provider_client add column token_secret_sealed bytea;
alter table provider_client add column created_at timestamptz not null default '2026-01-01T00:00:00Z';
alter table provider_client add column updated_at timestamptz not null default '2026-01-01T00:00:00Z';
create index provider_client_listing on provider_client (app_id, created_at desc, id desc);

alter table provider_account add column is_relay_email boolean not null default false;
alter table provider_account add column is_contactable boolean not null default true;
alter table provider_account add column refresh_token_sealed bytea;

alter table identity add column deletes_at timestamptz;
alter table identity add constraint identity_deletes_at check ((status = 'DELETION_PENDING') = (deletes_at is not null));
create index identity_deletion on identity (deletes_at) where status = 'DELETION_PENDING';

alter table principal add column deactivated_at timestamptz;

-- Of ended ones too: what they tell of a person goes when the identity does.
drop index session_identity;
create index session_identity on session (identity_id);
create index session_account on session (provider_account_id) where status = 'ACTIVE';
create index session_client on session (provider_client_id) where status = 'ACTIVE';
create index session_place on session (app_id, tenant_id) where status = 'ACTIVE';

create table tenant (
  id text primary key,
  app_id text not null references app (id),
  name text not null,
  status text not null check (status in ('ACTIVE', 'SUSPENDED', 'ARCHIVED')),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index tenant_listing on tenant (app_id, created_at desc, id desc);

create table context (
  id text primary key,
  app_id text not null references app (id),
  tenant_id text references tenant (id),
  type text not null,
  name text not null,
  status text not null check (status in ('ACTIVE', 'SUSPENDED', 'ARCHIVED')),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index context_listing on context (app_id, created_at desc, id desc);

alter table membership add column created_at timestamptz not null default '2026-01-01T00:00:00Z';
alter table membership add column updated_at timestamptz not null default '2026-01-01T00:00:00Z';
-- Who declined, was rejected or let an invitation run out may be asked again: a new row, as for who was removed.
drop index membership_place;
create unique index membership_place on membership (
  principal_id, app_id, (coalesce(tenant_id, '')), (coalesce(context_id, ''))
) where status in ('INVITED', 'REQUESTED', 'ACTIVE', 'SUSPENDED');
create index membership_listing on membership (app_id, created_at desc, id desc);

create table permission (
  id text primary key,
  app_id text not null references app (id),
  key text not null,
  description text not null,
  created_at timestamptz not null,
  unique (app_id, key)
);

create table role (
  id text primary key,
  app_id text not null references app (id),
  tenant_id text references tenant (id),
  key text not null,
  description text not null,
  permissions text[] not null,
  inheritable boolean not null,
  assignable_at text[] not null,
  status text not null check (status in ('ACTIVE', 'ARCHIVED')),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index role_key on role (app_id, (coalesce(tenant_id, '')), key) where status = 'ACTIVE';
create index role_listing on role (app_id, created_at desc, id desc);

-- "grant" is a word of SQL.
create table role_grant (
  id text primary key,
  principal_id text not null references principal (id),
  role_id text not null references role (id),
  app_id text not null references app (id),
  tenant_id text references tenant (id),
  context_id text references context (id),
  resource_type text,
  resource_id text,
  expires_at timestamptz,
  granted_by text not null,
  reason text not null,
  status text not null check (status in ('ACTIVE', 'REVOKED')),
  created_at timestamptz not null,
  revoked_at timestamptz,
  check ((status = 'ACTIVE') = (revoked_at is null)),
  check ((resource_type is null) = (resource_id is null))
);
-- One live grant of a role at a node.
create unique index role_grant_node on role_grant (
  principal_id, role_id, app_id, (coalesce(tenant_id, '')), (coalesce(context_id, '')),
  (coalesce(resource_type, '')), (coalesce(resource_id, ''))
) where status = 'ACTIVE';
create index role_grant_listing on role_grant (app_id, created_at desc, id desc);
create index role_grant_role on role_grant (role_id) where status = 'ACTIVE';

create table invitation (
  id text primary key,
  app_id text not null references app (id),
  tenant_id text references tenant (id),
  context_id text references context (id),
  -- The person who is asked, if they are known; else whoever has the code.
  principal_id text references principal (id),
  code_hash bytea not null unique check (octet_length(code_hash) = 32),
  scopes text[] not null,
  invited_by text not null,
  status text not null check (status in ('PENDING', 'ACCEPTED', 'DECLINED', 'REVOKED')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  answered_at timestamptz,
  membership_id text references membership (id),
  check ((status = 'PENDING') = (answered_at is null))
);
create index invitation_listing on invitation (app_id, created_at desc, id desc);

-- Magic links that were asked for, by the keyed hash of whom they went to; a row is made whether anybody has the address.
create table magic_link_request (
  id text primary key,
  email_hash bytea not null check (octet_length(email_hash) = 32),
  app_id text not null references app (id),
  code_challenge text,
  expires_at timestamptz not null
);
create index magic_link_request_email on magic_link_request (email_hash);
create index magic_link_request_expiry on magic_link_request (expires_at);

-- Accounts of IDP_C whose password at the project may be a stranger's, by a digest of their key.
create table password_hold (
  account_hash bytea primary key check (octet_length(account_hash) = 32),
  held_at timestamptz not null
);
