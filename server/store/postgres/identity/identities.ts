import type { Identities } from "@signet/kernel/ports"
import type { Identity, ProviderAccount } from "@signet/kernel/records"
import type { Selectable } from "kysely"
import { sql } from "kysely"
import { principalColumns, principalFromRow } from "../admin/principal-row.ts"
import type { IdentityTable, ProviderAccountTable } from "../schema.ts"
import { at, bytesOrNull, type Database, run } from "../sql.ts"
import { memberships } from "./memberships.ts"

export const accountColumns = [
  "id",
  "identity_id",
  "provider",
  "issuer",
  "subject",
  "provider_tenant",
  "email",
  "is_relay_email",
  "is_contactable",
  "refresh_token_sealed",
  "status",
  "created_at",
] as const satisfies readonly (keyof ProviderAccountTable)[]
const identityColumns = ["id", "status", "primary_email", "deletes_at", "created_at", "updated_at"] as const

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
        .select(accountColumns)
        .where("provider", "=", key.provider)
        .where("issuer", "=", key.issuer)
        .where("subject", "=", key.subject)
        .where(sql`coalesce(provider_tenant, '')`, "=", key.providerTenant ?? "")
        .executeTakeFirst()
      return row && accountFromRow(row)
    },

    async findAccounts(identityId) {
      const query = db.selectFrom("provider_account").select(accountColumns).where("identity_id", "=", identityId)
      return (await query.orderBy("id").execute()).map(accountFromRow)
    },

    async findIdentity(id) {
      const row = await db.selectFrom("identity").select(identityColumns).where("id", "=", id).executeTakeFirst()
      return row && identityFromRow(row)
    },

    async findPrincipal(id) {
      const row = await db.selectFrom("principal").select(principalColumns).where("id", "=", id).executeTakeFirst()
      return row && principalFromRow(row)
    },

    async findUserPrincipal(identityId) {
      const row = await db
        .selectFrom("principal")
        .select(principalColumns)
        .where("identity_id", "=", identityId)
        .where("kind", "=", "USER")
        .executeTakeFirst()
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

    async markAccountUsed(id, email, nowMs) {
      await db
        .updateTable("provider_account")
        .set((row) => ({
          last_used_at: at(nowMs),
          email: email ?? row.ref("email"),
          status: row
            .case()
            .when("status", "=", "REVOKED")
            .then("LINKED" as const)
            .else(row.ref("status"))
            .end(),
        }))
        .where("id", "=", id)
        .execute()
    },

    async setPrimaryEmail(id, email, nowMs) {
      const change = { primary_email: email, updated_at: at(nowMs) }
      await db.updateTable("identity").set(change).where("id", "=", id).execute()
    },

    ...memberships(db),
  }
}

export const accountFromRow = (row: Pick<Selectable<ProviderAccountTable>, (typeof accountColumns)[number]>) =>
  ({
    id: row.id,
    identityId: row.identity_id,
    provider: row.provider,
    issuer: row.issuer,
    subject: row.subject,
    providerTenant: row.provider_tenant,
    email: row.email,
    isRelayEmail: row.is_relay_email,
    isContactable: row.is_contactable,
    refreshTokenSealed: bytesOrNull(row.refresh_token_sealed),
    status: row.status,
    createdAtMs: row.created_at.getTime(),
  }) satisfies ProviderAccount

export const identityFromRow = (row: Selectable<IdentityTable>): Identity => ({
  id: row.id,
  status: row.status,
  primaryEmail: row.primary_email,
  deletesAtMs: row.deletes_at?.getTime() ?? null,
  createdAtMs: row.created_at.getTime(),
  updatedAtMs: row.updated_at.getTime(),
})
