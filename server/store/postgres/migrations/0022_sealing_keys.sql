-- Which sealing key seals. The keys are in settings; an id is derived from its key and says nothing of it.
create table sealing_key (
  id text primary key,
  status text not null check (status in ('CURRENT', 'PREVIOUS', 'RETIRED')),
  created_at timestamptz not null,
  resealed_at timestamptz,
  -- The key that stamps of the audit were made with, sealed under CURRENT: they are verified after the key has ended.
  stamp_sealed bytea,
  check ((status = 'CURRENT') = (stamp_sealed is null))
);
create unique index sealing_key_current on sealing_key (status) where status = 'CURRENT';
create unique index sealing_key_previous on sealing_key (status) where status = 'PREVIOUS';

-- The processes that run, with the sealing keys of their settings: a key neither seals nor ends before all are ready.
create table sealing_key_holder (
  process text primary key,
  key_ids text[] not null,
  seals_with text not null,
  seen_at timestamptz not null
);
