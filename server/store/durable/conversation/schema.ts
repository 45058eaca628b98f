// The tables of one conversation. A deployed step is never changed; new steps are appended.

export const conversationSteps = [
  `create table head (
    k integer primary key check (k = 1),
    id text not null,
    app_id text not null,
    tenant_id text,
    mls_group_id blob not null,
    kind text not null,
    creator_user_id text not null,
    user_ids text not null,
    max_leaves integer not null,
    created_at integer not null,
    -- One more with each change that is not an application message: what is decided elsewhere is compared and swapped by it.
    revision integer not null,
    status text not null,
    epoch integer not null,
    first_seq integer not null,
    state_tag blob,
    receipt_hash blob,
    group_context blob,
    interim_transcript_hash blob,
    tree_hash blob,
    directives text not null,
    fork_reports text not null,
    -- When the oldest envelope may have had its time; null while there is none.
    prune_at integer,
    check ((epoch = 0) = (state_tag is null))
  );

  -- Dense, and its end is the head: an application message is one row. It is its own memory of what was answered.
  create table log (
    seq integer primary key,
    epoch integer not null,
    kind text not null,
    message blob not null,
    content_hash blob not null,
    sender_device_id text not null,
    idempotency_key blob not null,
    accepted_at integer not null,
    receipt blob,
    check ((kind = 'COMMIT') = (receipt is not null))
  );
  create unique index log_key on log (sender_device_id, idempotency_key);
  create unique index log_content on log (content_hash);
  -- One winner an epoch, whatever the program does.
  create unique index log_commit on log (epoch) where kind = 'COMMIT';

  -- Leaves, and those that were: from the commit that brought one to the commit that took it.
  create table leaf (
    device_id text not null,
    from_seq integer not null,
    to_seq integer,
    leaf_index integer not null,
    user_id text not null,
    credential_hash blob not null,
    joined_epoch integer not null,
    primary key (device_id, from_seq)
  ) without rowid;
  create unique index leaf_index on leaf (leaf_index) where to_seq is null;

  create table cursor (
    device_id text primary key,
    processed_seq integer not null,
    processed_epoch integer not null,
    seen_at integer
  ) without rowid;

  create table group_info (
    k integer primary key check (k = 1),
    epoch integer not null,
    info blob not null
  );

  create table tree (
    hash blob primary key,
    size integer not null,
    -- When to see whether a pending welcome still names it; null while the epoch does.
    check_at integer
  );
  -- A row has 2 MB at most.
  create table tree_chunk (
    hash blob not null,
    position integer not null,
    chunk blob not null,
    primary key (hash, position)
  );

  -- What the welcomes of one commit have in common.
  create table welcome_commit (
    commit_seq integer primary key,
    epoch integer not null,
    tree_hash blob not null,
    receipt blob not null,
    proof blob not null,
    adder_device_id text not null,
    created_at integer not null
  );
  -- Devices keep their welcomes. Here are those on their way there, and which packages have let somebody in.
  create table welcome (
    id text primary key,
    commit_seq integer not null,
    device_id text not null,
    key_package_ref blob not null,
    -- DUE: to be handed to the device. SENT: it has it, and may still use it. ENDED: nobody does any more.
    status text not null,
    -- Empty unless DUE.
    welcome blob not null,
    expires_at integer not null
  );
  create index welcome_ref on welcome (key_package_ref);
  create index welcome_end on welcome (expires_at);
  create index welcome_of_commit on welcome (commit_seq);
  create index welcome_of_device on welcome (device_id)`,
] as const
