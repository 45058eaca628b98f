-- A place that is held, and will not be opened here again: the backend that it goes to may open it.
alter table messaging_place drop constraint messaging_place_state_check;
alter table messaging_place add constraint messaging_place_state_check
  check (state in ('OPEN', 'HOLDING', 'HELD', 'GIVEN', 'RECEIVING', 'MOVED'));

-- Init keys and claims are a device's own, as where each device keeps its own: what one of them repeats of another's is
-- nothing to that one, and keeps no place from being moved here.
alter table key_package drop constraint key_package_init_key_key;
alter table key_package add constraint key_package_init_key_key unique (device_id, init_key);
alter table key_package_init_key drop constraint key_package_init_key_pkey;
alter table key_package_init_key add primary key (device_id, init_key);

alter table claim_package add column requester_device_id text;
update claim_package set requester_device_id = claim.requester_device_id from claim where claim.id = claim_package.claim_id;
alter table claim_package alter column requester_device_id set not null;
alter table claim_package drop constraint claim_package_claim_id_fkey;
alter table claim_package drop constraint claim_package_pkey;
alter table claim drop constraint claim_pkey;
alter table claim add primary key (requester_device_id, id);
alter table claim_package add primary key (requester_device_id, claim_id, ref);
alter table claim_package add constraint claim_package_claim_fkey
  foreign key (requester_device_id, claim_id) references claim (requester_device_id, id) on delete cascade;
