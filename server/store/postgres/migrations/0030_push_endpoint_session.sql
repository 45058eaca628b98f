-- The end of a session deletes its endpoints.
create index push_endpoint_session on push_endpoint (session_id);
