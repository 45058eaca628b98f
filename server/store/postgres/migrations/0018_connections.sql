-- Several clients of one provider and platform, told apart by name. The ones that are there are the default.
alter table provider_client add column connection text not null default '' check (connection ~ '^([a-z0-9][a-z0-9-]{0,31})?$');
alter table provider_client add column display_name text not null default '';
alter table provider_client add column authorization_endpoint text;
alter table provider_client add column scopes text[] not null default '{}';
alter table provider_client add column requires_response_issuer boolean not null default false;
alter table provider_client drop constraint provider_client_app_id_provider_platform_key;
alter table provider_client add constraint provider_client_connection unique (app_id, provider, platform, connection);
