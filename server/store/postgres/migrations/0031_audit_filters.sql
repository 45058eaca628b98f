-- Lists of events by principal, target and kind, newest first. Most events are of a principal that acts for itself.
create index audit_event_actor on audit_event (actor_principal_id, occurred_at desc, id desc)
  where actor_principal_id is not null;
create index audit_event_subject on audit_event (subject_principal_id, occurred_at desc, id desc)
  where subject_principal_id is distinct from actor_principal_id;
create index audit_event_target on audit_event (target_id, occurred_at desc, id desc) where target_id is not null;
create index audit_event_kind on audit_event (kind, occurred_at desc, id desc);
