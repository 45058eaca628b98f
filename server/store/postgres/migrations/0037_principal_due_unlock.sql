-- The locks that are due. An earlier text of 0021 created this index, too.
create index principal_due_unlock on principal (lock_expires_at) where lock_expires_at is not null;
