-- The address of an event is in personal_sealed, which its stamp covers. This column was outside of the stamp, and nothing wrote it.
alter table audit_event drop column request_ip_truncated;

-- Null where the provider did not say when the person authenticated.
alter table session alter column auth_time_at drop not null;
