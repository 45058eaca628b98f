-- An administrator locks a principal for a time. The release before locks none, so no row has a lock to fill in, and the
-- checks hold for every row without a scan, for which calls would wait. 0037 has the index.
alter table principal
  add column lock_expires_at timestamptz,
  add column lock_reason text,
  add constraint principal_lock_reason_check check (lock_reason is null or length(lock_reason) <= 500) not valid,
  add constraint principal_check1 check ((status = 'LOCKED') = (lock_expires_at is not null)) not valid;
