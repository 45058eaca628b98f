-- Lists of one tenant, context, principal or role, newest first: without these, a list of a few rows reads every row of
-- the app. A membership of the app as a whole, which each sign-up inserts, is in none of them. Indexes alone, so that an
-- upgrade builds them without blocking writes.
create index membership_tenant on membership (tenant_id, created_at desc, id desc) where tenant_id is not null;
create index membership_context on membership (context_id, created_at desc, id desc) where context_id is not null;
create index role_grant_tenant on role_grant (tenant_id, created_at desc, id desc) where tenant_id is not null;
create index role_grant_context on role_grant (context_id, created_at desc, id desc) where context_id is not null;
create index role_grant_principal on role_grant (principal_id, created_at desc, id desc);
create index role_grant_of_role on role_grant (role_id, created_at desc, id desc);
create index invitation_tenant on invitation (tenant_id, created_at desc, id desc) where tenant_id is not null;
create index invitation_context on invitation (context_id, created_at desc, id desc) where context_id is not null;
create index context_tenant on context (tenant_id, created_at desc, id desc) where tenant_id is not null;
