// Maps service accounts to rows.
import type { ServiceAccount } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import { instant, rowMapping } from "../row-mapping.ts"
import type { ServiceAccountTable } from "./machine-schema.ts"

export type ServiceAccountRow = Selectable<ServiceAccountTable> & { owned_audiences: readonly string[] }

// Owned audiences have a table of their own, so that the database permits one owner per audience.
export const accountText = `service_account.*, array(
  select audience from owned_audience where service_account_id = service_account.id order by audience
) as owned_audiences`

const accountRows = rowMapping<Omit<ServiceAccount, "ownedAudiences">, ServiceAccountTable>({
  id: "id",
  principalId: "principal_id",
  appId: "app_id",
  tenantId: "tenant_id",
  name: "name",
  clientId: "client_id",
  status: "status",
  authMethods: "auth_methods",
  allowedAudiences: "allowed_audiences",
  scopes: "scopes",
  defaultScopes: "default_scopes",
  createdAtMs: instant("created_at"),
})

export const accountFromRow = (row: ServiceAccountRow): ServiceAccount => ({
  ...accountRows.fromRow(row),
  ownedAudiences: row.owned_audiences,
})
export const accountToRow = accountRows.toRow
