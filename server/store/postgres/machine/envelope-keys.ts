import type { EnvelopeKeys } from "@signet/kernel/machine/ports"
import type { EnvelopeKey } from "@signet/kernel/machine/records"
import { instant, rowMapping } from "../row-mapping.ts"
import { at, type Database } from "../sql.ts"
import type { EnvelopeKeyTable } from "./machine-schema.ts"

const envelopeKeyRows = rowMapping<EnvelopeKey, EnvelopeKeyTable>({
  kid: "kid",
  serviceAccountId: "service_account_id",
  x: "x",
  y: "y",
  mailboxes: "mailboxes",
  createdAtMs: instant("created_at"),
  revokedAtMs: instant("revoked_at"),
})

export function envelopeKeys(db: Database): EnvelopeKeys {
  return {
    async find(kid) {
      const row = await db.selectFrom("envelope_key").selectAll().where("kid", "=", kid).executeTakeFirst()
      return row && envelopeKeyRows.fromRow(row)
    },

    async list(id) {
      const rows = await db
        .selectFrom("envelope_key")
        .selectAll()
        .where("service_account_id", "=", id)
        .orderBy("created_at", "desc")
        .orderBy("kid")
        .execute()
      return rows.map(envelopeKeyRows.fromRow)
    },

    async insert(key) {
      const inserted = await db
        .insertInto("envelope_key")
        .values(envelopeKeyRows.toRow(key))
        .onConflict((conflict) => conflict.column("kid").doNothing())
        .returning("kid")
        .execute()
      return inserted.length === 1
    },

    async revoke(kid, nowMs) {
      const revoked = await db
        .updateTable("envelope_key")
        .set({ revoked_at: at(nowMs) })
        .where("kid", "=", kid)
        .where("revoked_at", "is", null)
        .returning("kid")
        .execute()
      return revoked.length === 1
    },
  }
}
