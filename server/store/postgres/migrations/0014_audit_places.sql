-- Places that every reader can count: who may only insert cannot make the audit unreadable by a number.
alter table audit_link add constraint audit_link_countable check (seq <= 9007199254740991) not valid;
alter table audit_checkpoint add constraint audit_checkpoint_countable check (number <= 9007199254740991) not valid;
