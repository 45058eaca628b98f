import type { IssuerKeyStore } from "@signet/kernel/keys/issuer-keys"
import { at, bytes, type Database } from "../sql.ts"

/** The store of the table in 0006_issuer_keys.sql. */
export function createIssuerKeyStore(db: Database): IssuerKeyStore {
  return {
    async list() {
      const rows = await db.selectFrom("issuer_key").selectAll().orderBy("purpose").orderBy("generation").execute()
      return rows.map((row) => ({
        purpose: row.purpose,
        generation: row.generation,
        publicKey: bytes(row.public_key),
        privateSealed: bytes(row.private_sealed),
        createdAtMs: row.created_at.getTime(),
      }))
    },

    async add(keys) {
      const rows = keys.map((key) => ({
        purpose: key.purpose,
        generation: key.generation,
        public_key: key.publicKey,
        private_sealed: key.privateSealed,
        created_at: at(key.createdAtMs),
      }))
      if (rows.length === 0) return
      await db
        .insertInto("issuer_key")
        .values(rows)
        .onConflict((conflict) => conflict.columns(["purpose", "generation"]).doNothing())
        .execute()
    },
  }
}
