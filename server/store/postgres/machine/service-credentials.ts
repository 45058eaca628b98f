import type { ServiceAccounts } from "@signet/kernel/machine/ports"
import type { ServiceKey, ServiceSecret } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import { bytea, instant, rowMapping } from "../row-mapping.ts"
import { at, type Database, insertInto, run } from "../sql.ts"
import type { ServiceKeyTable, ServiceSecretTable } from "./machine-schema.ts"

const secretRows = rowMapping<ServiceSecret, ServiceSecretTable>({
  id: "id",
  serviceAccountId: "service_account_id",
  secretHash: bytea("secret_hash"),
  hint: "hint",
  createdAtMs: instant("created_at"),
  expiresAtMs: instant("expires_at"),
  lastUsedAtMs: instant("last_used_at"),
  revokedAtMs: instant("revoked_at"),
})
const keyRows = rowMapping<ServiceKey, ServiceKeyTable>({
  serviceAccountId: "service_account_id",
  kid: "kid",
  x: "x",
  y: "y",
  createdAtMs: instant("created_at"),
  revokedAtMs: instant("revoked_at"),
})

const secretsText = `select ${secretRows.columns.join(", ")} from service_secret
where service_account_id = $1 order by created_at desc, id desc`
const keysText = `select ${keyRows.columns.join(", ")} from service_key
where service_account_id = $1 order by created_at desc, kid`
const insertSecretText = insertInto("service_secret", secretRows.columns)
const markSecretUsedText = `update service_secret set last_used_at = $2
where id = $1 and (last_used_at is null or last_used_at <= $2::timestamptz - interval '1 minute')`

type Credentials = Pick<
  ServiceAccounts,
  | ("secrets" | "insertSecret" | "shortenSecret" | "revokeSecret" | "markSecretUsed")
  | ("keys" | "insertKey" | "revokeKey")
>

export function serviceCredentials(db: Database): Credentials {
  return {
    async secrets(id) {
      return (await run<Selectable<ServiceSecretTable>>(db, secretsText, [id])).map(secretRows.fromRow)
    },

    async insertSecret(secret) {
      await run(db, insertSecretText, secretRows.values(secret))
    },

    async shortenSecret(id, expiresAtMs) {
      await db
        .updateTable("service_secret")
        .set({ expires_at: at(expiresAtMs) })
        .where("id", "=", id)
        .where("expires_at", ">", at(expiresAtMs))
        .execute()
    },

    async revokeSecret(id, nowMs) {
      const revoked = await db
        .updateTable("service_secret")
        .set({ revoked_at: at(nowMs) })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .returning("id")
        .execute()
      return revoked.length === 1
    },

    async markSecretUsed(id, nowMs) {
      await run(db, markSecretUsedText, [id, at(nowMs)])
    },

    async keys(id) {
      return (await run<Selectable<ServiceKeyTable>>(db, keysText, [id])).map(keyRows.fromRow)
    },

    async insertKey(key) {
      const inserted = await db
        .insertInto("service_key")
        .values(keyRows.toRow(key))
        .onConflict((conflict) => conflict.columns(["service_account_id", "kid"]).doNothing())
        .returning("kid")
        .execute()
      return inserted.length === 1
    },

    async revokeKey(id, kid, nowMs) {
      const revoked = await db
        .updateTable("service_key")
        .set({ revoked_at: at(nowMs) })
        .where("service_account_id", "=", id)
        .where("kid", "=", kid)
        .where("revoked_at", "is", null)
        .returning("kid")
        .execute()
      return revoked.length === 1
    },
  }
}
