-- Counts of calls and failures. Unlogged: a commit waits for no disk, and after a crash everybody starts afresh.
-- Keys are keyed hashes; times are microseconds since the Unix epoch, for arithmetic without rounding.
create unlogged table rate_limit (
  key bytea primary key check (octet_length(key) = 32),
  step_us bigint not null,
  span_us bigint not null,
  full_at_us bigint not null,
  was_granted boolean not null
) with (fillfactor = 50);

create unlogged table lockout (
  key bytea primary key check (octet_length(key) = 32),
  failures integer not null,
  window_ends_at_us bigint not null,
  locks integer not null,
  locked_until_us bigint not null,
  forgotten_at_us bigint not null,
  was_counted boolean not null
) with (fillfactor = 50);
