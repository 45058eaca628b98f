import { longestCertificateMs } from "@signet/kernel/machine/envelope-certificate"
import type { ServiceAccounts } from "@signet/kernel/machine/ports"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import { raiseAuthority } from "../admin/authority.ts"
import { memberships } from "../identity/memberships.ts"
import { at, type Database, run } from "../sql.ts"
import { revocations } from "../token/revocations.ts"
import { findClient } from "./client-facts.ts"
import { accountFromRow, accountText, accountToRow, type ServiceAccountRow } from "./service-account-row.ts"
import { serviceCredentials } from "./service-credentials.ts"

const selectText = `select ${accountText} from service_account`
const list = (condition: string) => `${selectText}
where app_id = $1 and coalesce(tenant_id, '') = $2 and (cardinality($4::text[]) = 0 or principal_id = any($4))
  and ${condition} order by created_at desc, id desc limit $3`
const listText = list("true")
const listAfterText = list("(created_at, id) < ($5, $6)")

export function serviceAccounts(db: Database): ServiceAccounts {
  const findBy = async (condition: string, value: string): Promise<ServiceAccount | undefined> => {
    const [row] = await run<ServiceAccountRow>(db, `${selectText} where ${condition}`, [value])
    return row && accountFromRow(row)
  }

  return {
    async insert(account, principal, membership) {
      if (principal.kind !== "SERVICE" || principal.id !== account.principalId) {
        throw new RangeError("the principal does not belong to the service")
      }
      const { id, kind, identityId, status } = principal
      await db.insertInto("principal").values({ id, kind, identity_id: identityId, status }).execute()
      await db.insertInto("service_account").values(accountToRow(account)).execute()
      if (!(await claim(db, account))) return false
      await memberships(db).insertMembership(membership)
      return true
    },

    find: (id) => findBy("id = $1", id),
    // Locks only the account's row, because audiences never change.
    lock: (id) => findBy("id = $1 for update of service_account", id),
    findByPrincipal: (id) => findBy("principal_id = $1", id),
    findClient: (question) => findClient(db, question),

    async list({ appId, tenantId }, principalIds, { size, before }) {
      const cursor = before === null ? [] : [at(before.createdAtMs), before.id]
      const text = before === null ? listText : listAfterText
      const rows = await run<ServiceAccountRow>(db, text, [appId, tenantId ?? "", size, principalIds, ...cursor])
      return rows.map(accountFromRow)
    },

    async setStatus(id, status, nowMs) {
      const changed = await db
        .updateTable("service_account")
        .set({ status })
        .where("id", "=", id)
        .where("status", "<>", status)
        .returning(["principal_id", "app_id"])
        .executeTakeFirst()
      if (changed === undefined) return false
      const of = { principalId: changed.principal_id, appId: changed.app_id }
      const revoked = { kind: "PRINCIPAL", key: changed.principal_id } as const
      if (status === "ACTIVE") await revocations(db).lift(revoked, nowMs)
      // Its envelope keys stay valid, and so do their certificates until they expire.
      else await revocations(db).add([{ ...revoked, expiresAtMs: nowMs + longestCertificateMs }])
      // No minimum version: the revocation covers all of its tokens.
      await raiseAuthority(db, of, "wider", nowMs)
      return true
    },

    ...serviceCredentials(db),
  }
}

/** Claims all audiences or none. Another service may own one of them, or be inserting it. */
async function claim(db: Database, account: ServiceAccount): Promise<boolean> {
  // In one order, so that two concurrent claims do not deadlock.
  const audiences = [...account.ownedAudiences].sort()
  if (audiences.length === 0) return true
  const claimed = await db
    .insertInto("owned_audience")
    .values(audiences.map((audience) => ({ audience, service_account_id: account.id })))
    .onConflict((conflict) => conflict.column("audience").doNothing())
    .returning("audience")
    .execute()
  if (claimed.length === audiences.length) return true
  await db.deleteFrom("owned_audience").where("service_account_id", "=", account.id).execute()
  await db.deleteFrom("service_account").where("id", "=", account.id).execute()
  await db.deleteFrom("principal").where("id", "=", account.principalId).execute()
  return false
}
