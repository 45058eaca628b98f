-- Moving an app or a tenant of it to another messaging backend. Of a place without a tenant, tenant_id is empty.

-- Where a place stands. One without a row is open.
create table messaging_place (
  app_id text not null,
  tenant_id text not null,
  state text not null check (state in ('OPEN', 'HOLDING', 'HELD', 'RECEIVING', 'MOVED')),
  -- Of the newest transfer.
  transfer_id bytea check (octet_length(transfer_id) = 16),
  changed_at timestamptz,
  primary key (app_id, tenant_id)
);

-- Every write locks one gate of its place, by the last character of an id, and shares it with other writes. Who holds the
-- place closes one after the other, and so waits for those that are under way. Several, because one row that everybody
-- shares at every moment costs the database more.
create table messaging_gate (
  app_id text not null,
  tenant_id text not null,
  shard text not null,
  is_open boolean not null,
  primary key (app_id, tenant_id, shard)
);
insert into messaging_gate (app_id, tenant_id, shard, is_open)
select place.app_id, place.tenant_id, shard, true
from (
  select app_id, tenant_id from messaging_device
  union select app_id, tenant_id from device_list
  union select app_id, tenant_id from conversation
) place
cross join unnest(array[
  '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
  'g', 'h', 'j', 'k', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'y', 'z']) shard;

create index messaging_device_place on messaging_device (app_id, tenant_id, id);
create index conversation_place on conversation (app_id, tenant_id, id);

-- What is exported is read by conversation and by device.
create index messaging_device_key_device on messaging_device_key (device_id);
create index key_package_device on key_package (device_id, ref);
create index key_package_init_key_device on key_package_init_key (device_id, init_key);
create index claim_requester on claim (requester_device_id, id);
create index attachment_conversation on attachment (conversation_id, id);
