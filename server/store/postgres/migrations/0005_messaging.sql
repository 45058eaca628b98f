-- Devices, key packages and conversations: ciphertext, public keys and who is where. No foreign keys to identity, so that
-- these tables may be in another database. Of a place without a tenant, tenant_id is empty. Hashes are 32 bytes.

alter table session add column bound_device_id text;
create index session_device on session (bound_device_id) where bound_device_id is not null and status = 'ACTIVE';

create table messaging_device (
  id text primary key,
  user_id text not null,
  app_id text not null,
  tenant_id text not null,
  status text not null check (status in ('ACTIVE', 'REVOKED')),
  leaf_key bytea not null check (octet_length(leaf_key) = 32),
  previous_leaf_key bytea check (octet_length(previous_leaf_key) = 32),
  previous_expires_at timestamptz,
  credential bytea not null,
  credential_hash bytea not null check (octet_length(credential_hash) = 32),
  expires_at timestamptz not null,
  platform text not null,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  revoked_at timestamptz,
  check ((status = 'ACTIVE') = (revoked_at is null)),
  check ((previous_leaf_key is null) = (previous_expires_at is null))
);
create index messaging_device_user on messaging_device (user_id, app_id, tenant_id);

-- Every leaf key that a device ever had, for good: no two devices have the same.
create table messaging_device_key (
  leaf_key bytea primary key check (octet_length(leaf_key) = 32),
  device_id text not null
);

-- A chain: a version is there once, and after the one before it.
create table device_list (
  user_id text not null,
  app_id text not null,
  tenant_id text not null,
  version bigint not null check (version > 0),
  signed bytea not null,
  hash bytea not null check (octet_length(hash) = 32),
  primary key (user_id, app_id, tenant_id, version)
);

-- Revocations that key packages, welcomes and conversations may not know of yet.
create table revocation_effect (
  device_id text primary key,
  user_id text not null,
  revoked_at timestamptz not null
);
create index revocation_effect_order on revocation_effect (revoked_at, device_id);

create table proof_nonce (
  device_id text not null,
  nonce bytea not null,
  expires_at timestamptz not null,
  primary key (device_id, nonce)
);
create index proof_nonce_end on proof_nonce (expires_at);

create table key_package (
  ref bytea primary key check (octet_length(ref) = 32),
  init_key bytea not null unique check (octet_length(init_key) = 32),
  device_id text not null,
  user_id text not null,
  credential_hash bytea not null check (octet_length(credential_hash) = 32),
  package bytea not null,
  is_last_resort boolean not null,
  not_before timestamptz not null,
  not_after timestamptz not null,
  status text not null check (status in ('AVAILABLE', 'CLAIMED', 'RETIRED'))
);
create index key_package_pool on key_package (device_id, not_after, ref) where status = 'AVAILABLE';
create unique index key_package_last_resort on key_package (device_id) where status = 'AVAILABLE' and is_last_resort;
create index key_package_end on key_package (not_after);

-- Every init key that was ever uploaded, for good, with the hash of what it came in.
create table key_package_init_key (
  init_key bytea primary key check (octet_length(init_key) = 32),
  device_id text not null,
  package_hash bytea not null check (octet_length(package_hash) = 32)
);

create table claim (
  id text primary key,
  requester_device_id text not null,
  conversation_id text not null,
  request_hash bytea not null check (octet_length(request_hash) = 32),
  without_device_ids text[] not null,
  claimed_at timestamptz not null
);
create index claim_end on claim (claimed_at);

create table claim_package (
  claim_id text not null references claim (id) on delete cascade,
  ref bytea not null references key_package (ref),
  primary key (claim_id, ref)
);
create index claim_package_ref on claim_package (ref);

-- The head. What an append changes is in no index, so that its update stays in the page.
create table conversation (
  id text primary key,
  app_id text not null,
  tenant_id text not null,
  mls_group_id bytea not null unique check (octet_length(mls_group_id) = 32),
  kind text not null check (kind in ('DIRECT', 'GROUP')),
  status text not null check (status in ('ACTIVE', 'QUARANTINED', 'CLOSED')),
  creator_user_id text not null,
  user_ids text[] not null,
  -- Place and users of a direct conversation.
  direct_key text,
  creator_device_id text not null,
  creator_key bytea not null,
  request_hash bytea not null,
  epoch bigint not null check (epoch >= 0),
  head_seq bigint not null check (head_seq >= 0),
  first_seq bigint not null check (first_seq >= 1),
  head_at timestamptz not null,
  state_tag bytea,
  receipt_hash bytea,
  group_context bytea,
  interim_transcript_hash bytea,
  tree_hash bytea,
  -- Those that are not done, as the records are.
  directives jsonb not null,
  fork_reports jsonb not null,
  member_online_at timestamptz,
  max_leaves integer not null,
  -- When the oldest envelope may have had its time; null while there is none.
  prune_at timestamptz,
  created_at timestamptz not null,
  check ((epoch = 0) = (state_tag is null)),
  check ((kind = 'DIRECT') = (direct_key is not null))
) with (fillfactor = 70);
create unique index conversation_direct on conversation (direct_key) where direct_key is not null and status <> 'CLOSED';
create unique index conversation_key on conversation (creator_device_id, creator_key) where kind = 'GROUP';
create index conversation_prune on conversation (prune_at) where prune_at is not null;

-- Whom a conversation was made for, until its first commit.
create table conversation_asked (
  conversation_id text not null references conversation (id),
  user_id text not null,
  primary key (conversation_id, user_id)
);
create index conversation_asked_user on conversation_asked (user_id, conversation_id);

-- Leaves, and those that were: from the commit that brought one to the commit that took it.
create table conversation_leaf (
  conversation_id text not null references conversation (id),
  device_id text not null,
  from_seq bigint not null,
  to_seq bigint,
  leaf_index integer not null,
  user_id text not null,
  credential_hash bytea not null check (octet_length(credential_hash) = 32),
  joined_epoch bigint not null,
  primary key (conversation_id, device_id, from_seq)
);
create unique index conversation_leaf_index on conversation_leaf (conversation_id, leaf_index) where to_seq is null;
create unique index conversation_leaf_device on conversation_leaf (device_id, conversation_id) where to_seq is null;
create index conversation_leaf_user on conversation_leaf (user_id, conversation_id) where to_seq is null;

-- The log: dense from 1. It is its own memory of what was answered: by key and by content.
create table conversation_log (
  conversation_id text not null references conversation (id),
  seq bigint not null check (seq >= 1),
  epoch bigint not null,
  kind text not null check (kind in ('APPLICATION', 'COMMIT')),
  message bytea not null,
  content_hash bytea not null check (octet_length(content_hash) = 32),
  sender_device_id text not null,
  idempotency_key bytea not null,
  accepted_at timestamptz not null,
  receipt bytea,
  primary key (conversation_id, seq),
  check ((kind = 'COMMIT') = (receipt is not null))
);
create unique index conversation_log_key on conversation_log (conversation_id, sender_device_id, idempotency_key);
create unique index conversation_log_content on conversation_log (conversation_id, content_hash);
-- One winner an epoch, whatever the program does.
create unique index conversation_log_commit on conversation_log (conversation_id, epoch) where kind = 'COMMIT';

create table group_info (
  conversation_id text primary key references conversation (id),
  epoch bigint not null,
  info bytea not null
);

create table tree (
  conversation_id text not null references conversation (id),
  hash bytea not null check (octet_length(hash) = 32),
  size integer not null,
  -- When to see whether a pending welcome still names it; null while the epoch does.
  check_at timestamptz,
  primary key (conversation_id, hash)
);
create index tree_check on tree (check_at) where check_at is not null;

-- Pieces of 1 MiB: a larger row would be a burden for everybody.
create table tree_chunk (
  conversation_id text not null,
  hash bytea not null,
  index integer not null,
  chunk bytea not null check (octet_length(chunk) <= 1048576),
  primary key (conversation_id, hash, index),
  foreign key (conversation_id, hash) references tree (conversation_id, hash) on delete cascade
);

create table device_cursor (
  conversation_id text not null references conversation (id),
  device_id text not null,
  processed_seq bigint not null,
  processed_epoch bigint not null,
  seen_at timestamptz,
  primary key (conversation_id, device_id)
) with (fillfactor = 70);

-- What the welcomes of one commit have in common: the end of their bytes, which is the encrypted GroupInfo.
create table welcome_commit (
  conversation_id text not null references conversation (id),
  commit_seq bigint not null,
  epoch bigint not null,
  tail bytea not null,
  tree_hash bytea not null,
  receipt bytea not null,
  proof bytea not null,
  adder_device_id text not null,
  primary key (conversation_id, commit_seq)
);

create table welcome (
  id text primary key,
  device_id text not null,
  conversation_id text not null,
  commit_seq bigint not null,
  key_package_ref bytea not null,
  -- The welcome without the common end; empty once it was consumed or is void.
  head bytea not null,
  status text not null check (status in ('PENDING', 'CONSUMED', 'VOID')),
  consumed_with_key bytea,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  foreign key (conversation_id, commit_seq) references welcome_commit (conversation_id, commit_seq),
  check ((status = 'CONSUMED') = (consumed_with_key is not null))
);
create index welcome_pending on welcome (device_id, created_at, id) where status = 'PENDING';
create index welcome_commit_pending on welcome (conversation_id, commit_seq);
create index welcome_end on welcome (expires_at);

create table attachment (
  id text primary key,
  conversation_id text not null,
  owner_device_id text not null,
  owner_user_id text not null,
  status text not null check (status in ('UPLOADING', 'COMPLETE', 'DELETED')),
  size bigint not null,
  sha256 bytea not null check (octet_length(sha256) = 32),
  part_size integer not null check (part_size > 0),
  parts integer[] not null,
  idempotency_key bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (owner_device_id, idempotency_key)
);
create index attachment_end on attachment (expires_at);
create index attachment_deleted on attachment (id) where status = 'DELETED';
