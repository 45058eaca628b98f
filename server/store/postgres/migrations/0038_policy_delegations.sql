-- The standing delegations under a policy, newest first. An index alone, so that an upgrade builds it without blocking
-- writes.
create index delegation_policy_members on delegation (policy_id, created_at desc, id desc) where revoked_at is null;
