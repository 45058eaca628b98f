-- The users whom a user blocks at a place, in one row: a change locks it. Without a tenant, tenant_id is empty.
create table block_list (
  app_id text not null,
  tenant_id text not null,
  user_id text not null,
  version bigint not null,
  blocked_user_ids text[] not null,
  primary key (app_id, tenant_id, user_id)
);
