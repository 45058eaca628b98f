-- An administrator locks a principal for a time.
alter table principal
  add column lock_expires_at timestamptz,
  add column lock_reason text,
  add check (lock_reason is null or length(lock_reason) <= 500);
update principal set lock_expires_at = now(), lock_reason = '' where status = 'LOCKED';
alter table principal add check ((status = 'LOCKED') = (lock_expires_at is not null));
create index principal_due_unlock on principal (lock_expires_at) where lock_expires_at is not null;
