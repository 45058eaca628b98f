-- The archives of a user at a place, in one row: a change locks it. Chunks are in the blob store. Without a tenant,
-- tenant_id is empty. due_at is the time at which the first archive's chunks are to be erased.
create table archive_list (
  app_id text not null,
  tenant_id text not null,
  user_id text not null,
  archives jsonb not null,
  due_at timestamptz,
  primary key (app_id, tenant_id, user_id)
);
create index archive_list_due on archive_list (due_at) where due_at is not null;
