-- Public keys that messaging backends elsewhere sign receipts and claim tickets with. Their private halves are not here. The
-- root signs them into the key set with the installation's own.
create table receipt_key (
  public_key bytea primary key check (length(public_key) = 32),
  name text not null check (length(name) <= 100),
  created_at timestamptz not null
);
