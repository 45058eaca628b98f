-- Administrators find people by their verified address, and by a provider's subject.
create index identity_primary_email on identity (lower(primary_email)) where primary_email is not null;
create index provider_account_subject on provider_account (provider, subject);
