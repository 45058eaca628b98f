-- Null where the provider did not say when the person authenticated. 0020 does so too, but only when an upgrade is finished.
alter table session alter column auth_time_at drop not null;
