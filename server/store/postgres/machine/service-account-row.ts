// Maps service accounts to rows.
import type { ServiceAccount } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import { at } from "../sql.ts"
import type { ServiceAccountTable } from "./machine-schema.ts"

export type ServiceAccountRow = Selectable<ServiceAccountTable> & { owned_audiences: readonly string[] }

// Owned audiences have a table of their own, so that the database permits one owner per audience.
export const accountText = `service_account.*, array(
  select audience from owned_audience where service_account_id = service_account.id order by audience
) as owned_audiences`
export const accountFromRow = (row: ServiceAccountRow): ServiceAccount => ({
  id: row.id,
  principalId: row.principal_id,
  appId: row.app_id,
  tenantId: row.tenant_id,
  name: row.name,
  clientId: row.client_id,
  status: row.status,
  authMethods: row.auth_methods,
  ownedAudiences: row.owned_audiences,
  allowedAudiences: row.allowed_audiences,
  scopes: row.scopes,
  defaultScopes: row.default_scopes,
  createdAtMs: row.created_at.getTime(),
})

export const accountToRow = (account: ServiceAccount): ServiceAccountTable => ({
  id: account.id,
  principal_id: account.principalId,
  app_id: account.appId,
  tenant_id: account.tenantId,
  name: account.name,
  client_id: account.clientId,
  status: account.status,
  auth_methods: account.authMethods,
  allowed_audiences: account.allowedAudiences,
  scopes: account.scopes,
  default_scopes: account.defaultScopes,
  created_at: at(account.createdAtMs),
})
