-- Lists of events, newest first: of a tenant, and of the whole installation. An app's has its index.
create index audit_event_tenant on audit_event (tenant_id, occurred_at desc, id desc) where tenant_id is not null;
create index audit_event_time on audit_event (occurred_at desc, id desc);
