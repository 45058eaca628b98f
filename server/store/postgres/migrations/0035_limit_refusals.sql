-- Rate limits and locks that have refused a call, for administrators. Unlogged, as the counts are. A row names what the
-- audit names of the refusal: the limit, the truncated network and the caller, but no address.
create unlogged table limit_refusal (
  key bytea primary key check (octet_length(key) = 32),
  kind text not null check (kind in ('RATE_LIMIT', 'LOCK')),
  name text not null,
  network text,
  principal_id text,
  refused_at_us bigint not null,
  until_us bigint not null
);
create index limit_refusal_until on limit_refusal (until_us, key);
