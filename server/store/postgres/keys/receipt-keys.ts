import type { ReceiptKeyStore } from "@signet/kernel/keys/issuer-keys"
import { at, bytes, type Database } from "../sql.ts"

/** The store of the table in 0015_receipt_keys.sql. */
export function createReceiptKeyStore(db: Database): ReceiptKeyStore {
  return {
    async list() {
      const rows = await db.selectFrom("receipt_key").selectAll().orderBy("created_at").orderBy("public_key").execute()
      return rows.map((row) => ({
        publicKey: bytes(row.public_key),
        name: row.name,
        createdAtMs: row.created_at.getTime(),
      }))
    },

    async add({ publicKey, name, createdAtMs }) {
      await db
        .insertInto("receipt_key")
        .values({ public_key: publicKey, name, created_at: at(createdAtMs) })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },

    async remove(publicKey) {
      const { numDeletedRows } = await db
        .deleteFrom("receipt_key")
        .where("public_key", "=", publicKey)
        .executeTakeFirstOrThrow()
      return numDeletedRows > 0n
    },
  }
}
