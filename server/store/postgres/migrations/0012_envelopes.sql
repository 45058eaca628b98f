-- Keys that services sign envelopes with. One is of one account for good: its name in a certificate is whose it is.
create table envelope_key (
  kid text primary key,
  service_account_id text not null references service_account (id),
  x text not null,
  y text not null,
  mailboxes text[] not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index envelope_key_account on envelope_key (service_account_id);
