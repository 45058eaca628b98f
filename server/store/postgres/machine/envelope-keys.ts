import type { EnvelopeKeys } from "@signet/kernel/machine/ports"
import type { EnvelopeKey } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import { at, atOrNull, type Database, msOrNull } from "../sql.ts"
import type { EnvelopeKeyTable } from "./machine-schema.ts"

export function envelopeKeys(db: Database): EnvelopeKeys {
  return {
    async find(kid) {
      const row = await db.selectFrom("envelope_key").selectAll().where("kid", "=", kid).executeTakeFirst()
      return row && fromRow(row)
    },

    async list(id) {
      const rows = await db
        .selectFrom("envelope_key")
        .selectAll()
        .where("service_account_id", "=", id)
        .orderBy("created_at", "desc")
        .orderBy("kid")
        .execute()
      return rows.map(fromRow)
    },

    async insert(key) {
      const inserted = await db
        .insertInto("envelope_key")
        .values(toRow(key))
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

const fromRow = (row: Selectable<EnvelopeKeyTable>): EnvelopeKey => ({
  kid: row.kid,
  serviceAccountId: row.service_account_id,
  x: row.x,
  y: row.y,
  mailboxes: row.mailboxes,
  createdAtMs: row.created_at.getTime(),
  revokedAtMs: msOrNull(row.revoked_at),
})

const toRow = (key: EnvelopeKey): EnvelopeKeyTable => ({
  kid: key.kid,
  service_account_id: key.serviceAccountId,
  x: key.x,
  y: key.y,
  mailboxes: key.mailboxes,
  created_at: at(key.createdAtMs),
  revoked_at: atOrNull(key.revokedAtMs),
})
