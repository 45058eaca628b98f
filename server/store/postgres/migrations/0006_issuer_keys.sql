-- The keys that credentials, proofs, device lists and receipts are signed with. Which of them sign is what the key set
-- says that the root has signed; it is no row, but a file of the operator's.
create table issuer_key (
  purpose text not null check (purpose in ('CREDENTIAL', 'PROOF', 'LIST', 'RECEIPT')),
  generation integer not null check (generation > 0),
  public_key bytea not null unique check (length(public_key) = 32),
  private_sealed bytea not null,
  created_at timestamptz not null,
  primary key (purpose, generation)
);
