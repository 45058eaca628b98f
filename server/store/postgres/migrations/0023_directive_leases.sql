-- Who was online no longer decides whether an open removal blocks messages: the sender can commit it.
alter table conversation drop column member_online_at;
