import type { IdentityId } from "@signet/kernel/ids"
import type { Identities } from "@signet/kernel/ports"
import type { Identity, ProviderAccount } from "@signet/kernel/records"
import { sql } from "kysely"
import { principalColumns, principalFromRow } from "../admin/principal-row.ts"
import { bytea, instant, rowMapping } from "../row-mapping.ts"
import type { IdentityTable, ProviderAccountTable } from "../schema.ts"
import { at, type Database, run } from "../sql.ts"
import { memberships } from "./memberships.ts"

/** The statement sets `last_used_at`. */
export const accountRows = rowMapping<ProviderAccount, Omit<ProviderAccountTable, "last_used_at">>({
  id: "id",
  identityId: "identity_id",
  provider: "provider",
  issuer: "issuer",
  subject: "subject",
  providerTenant: "provider_tenant",
  email: "email",
  isRelayEmail: "is_relay_email",
  isContactable: "is_contactable",
  refreshTokenSealed: bytea("refresh_token_sealed"),
  status: "status",
  createdAtMs: instant("created_at"),
})
export const identityRows = rowMapping<Identity, IdentityTable>({
  id: "id",
  status: "status",
  primaryEmail: "primary_email",
  deletesAtMs: instant("deletes_at"),
  createdAtMs: instant("created_at"),
  updatedAtMs: instant("updated_at"),
})

// The account is inserted first: its key decides, and the insert waits for a concurrent sign-in with the same key.
// Foreign keys are checked at the end of the statement, when all three rows exist.
const insertIdentityText = `
with account as (
  insert into provider_account
    (id, identity_id, provider, issuer, subject, provider_tenant, email, status, created_at, last_used_at,
     is_relay_email, refresh_token_sealed)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $17, $18)
  on conflict (provider, issuer, subject, (coalesce(provider_tenant, ''))) do nothing
  returning identity_id
), person as (
  insert into identity (id, status, primary_email, created_at, updated_at)
  select identity_id, $10, $11, $12, $13 from account
)
insert into principal (id, kind, identity_id, status)
select $14, $15, identity_id, $16 from account
returning id`

export function identities(db: Database): Identities {
  return {
    async findAccount(key) {
      const row = await db
        .selectFrom("provider_account")
        .select(accountRows.columns)
        .where("provider", "=", key.provider)
        .where("issuer", "=", key.issuer)
        .where("subject", "=", key.subject)
        .where(sql`coalesce(provider_tenant, '')`, "=", key.providerTenant ?? "")
        .executeTakeFirst()
      return row && accountRows.fromRow(row)
    },

    async findAccounts(identityId) {
      const query = db.selectFrom("provider_account").select(accountRows.columns).where("identity_id", "=", identityId)
      return (await query.orderBy("id").execute()).map(accountRows.fromRow)
    },

    async findIdentity(id) {
      const row = await db.selectFrom("identity").select(identityRows.columns).where("id", "=", id).executeTakeFirst()
      return row && identityRows.fromRow(row)
    },

    async findPrincipal(id) {
      const row = await db.selectFrom("principal").select(principalColumns).where("id", "=", id).executeTakeFirst()
      return row && principalFromRow(row)
    },

    async findUserPrincipal(identityId) {
      const row = await userPrincipalOf(db, identityId).executeTakeFirst()
      return row && principalFromRow(row)
    },

    async insertIdentity(identity, account, principal) {
      if (account.identityId !== identity.id || principal.identityId !== identity.id) {
        throw new RangeError("the account or the principal belongs to another identity")
      }
      const rows = await run(db, insertIdentityText, [
        account.id,
        identity.id,
        account.provider,
        account.issuer,
        account.subject,
        account.providerTenant,
        account.email,
        account.status,
        at(account.createdAtMs),
        identity.status,
        identity.primaryEmail,
        at(identity.createdAtMs),
        at(identity.updatedAtMs),
        principal.id,
        principal.kind,
        principal.status,
        account.isRelayEmail,
        account.refreshTokenSealed,
      ])
      return rows.length === 1
    },

    async setPrimaryEmail(id, email, nowMs) {
      const change = { primary_email: email, updated_at: at(nowMs) }
      await db.updateTable("identity").set(change).where("id", "=", id).execute()
    },

    ...memberships(db),
  }
}

const userPrincipalOf = (db: Database, identityId: IdentityId) =>
  db.selectFrom("principal").select(principalColumns).where("identity_id", "=", identityId).where("kind", "=", "USER")
