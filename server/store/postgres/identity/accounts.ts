import type { AccountAdministration } from "@signet/kernel/administration/ports"
import { sql } from "kysely"
import { at, atOrNull, type Database } from "../sql.ts"
import { erase } from "./erase.ts"
import { accountRows, identityRows } from "./identities.ts"

export function accountAdministration(db: Database): AccountAdministration {
  return {
    async lockIdentity(id) {
      const row = await db.selectFrom("identity").selectAll().where("id", "=", id).forUpdate().executeTakeFirst()
      return row && identityRows.fromRow(row)
    },

    async lockAccount(id) {
      const query = db.selectFrom("provider_account").select(accountRows.columns).where("id", "=", id).forUpdate()
      const row = await query.executeTakeFirst()
      return row && accountRows.fromRow(row)
    },

    async insertAccount(account) {
      const inserted = await db
        .insertInto("provider_account")
        .values({ ...accountRows.toRow(account), last_used_at: null })
        .onConflict((conflict) =>
          conflict.expression(sql`provider, issuer, subject, (coalesce(provider_tenant, ''))`).doNothing(),
        )
        .returning("id")
        .execute()
      return inserted.length === 1
    },

    async updateAccount({ id, identityId, status, email, isRelayEmail, isContactable, refreshTokenSealed }) {
      const change = {
        status,
        email,
        is_relay_email: isRelayEmail,
        is_contactable: isContactable,
        refresh_token_sealed: refreshTokenSealed,
      }
      await db
        .updateTable("provider_account")
        .set((row) => ({
          ...change,
          // The right side sees the row before the update.
          identity_id: row.case().when("status", "=", "UNLINKED").then(identityId).else(row.ref("identity_id")).end(),
        }))
        .where("id", "=", id)
        .execute()
    },

    async updateIdentity({ id, status, primaryEmail, deletesAtMs, updatedAtMs }) {
      const dates = { deletes_at: atOrNull(deletesAtMs), updated_at: at(updatedAtMs) }
      await db
        .updateTable("identity")
        .set({ status, primary_email: primaryEmail, ...dates })
        .where("id", "=", id)
        .execute()
    },

    async listDueDeletions(nowMs, limit) {
      const rows = await db
        .selectFrom("identity")
        .select("id")
        // A literal, because a parameter does not match the partial index.
        .where(sql<boolean>`status = 'DELETION_PENDING'`)
        .where("deletes_at", "<=", at(nowMs))
        .orderBy("deletes_at")
        .limit(limit)
        .execute()
      return rows.map((row) => row.id)
    },

    erase: (id, nowMs) => erase(db, id, nowMs),
  }
}
