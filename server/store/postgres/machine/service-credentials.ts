import type { ServiceAccounts } from "@signet/kernel/machine/ports"
import type { ServiceKey, ServiceSecret } from "@signet/kernel/machine/records"
import type { Selectable } from "kysely"
import { at, atOrNull, bytes, type Database, insertInto, msOrNull, run } from "../sql.ts"
import type { ServiceKeyTable, ServiceSecretTable } from "./machine-schema.ts"

const secretColumns = [
  "id",
  "service_account_id",
  "secret_hash",
  "hint",
  "created_at",
  "expires_at",
  "last_used_at",
  "revoked_at",
] as const satisfies readonly (keyof ServiceSecretTable)[]
const keyColumns = ["service_account_id", "kid", "x", "y", "created_at", "revoked_at"] as const

const secretsText = `select ${secretColumns.join(", ")} from service_secret
where service_account_id = $1 order by created_at desc, id desc`
const keysText = `select ${keyColumns.join(", ")} from service_key
where service_account_id = $1 order by created_at desc, kid`
const insertSecretText = insertInto("service_secret", secretColumns)
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
      return (await run<Selectable<ServiceSecretTable>>(db, secretsText, [id])).map(secretFromRow)
    },

    async insertSecret(secret) {
      const row = secretToRow(secret)
      await run(
        db,
        insertSecretText,
        secretColumns.map((column) => row[column]),
      )
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
      return (await run<Selectable<ServiceKeyTable>>(db, keysText, [id])).map(keyFromRow)
    },

    async insertKey(key) {
      const inserted = await db
        .insertInto("service_key")
        .values(keyToRow(key))
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

const secretFromRow = (row: Selectable<ServiceSecretTable>): ServiceSecret => ({
  id: row.id,
  serviceAccountId: row.service_account_id,
  secretHash: bytes(row.secret_hash),
  hint: row.hint,
  createdAtMs: row.created_at.getTime(),
  expiresAtMs: row.expires_at.getTime(),
  lastUsedAtMs: msOrNull(row.last_used_at),
  revokedAtMs: msOrNull(row.revoked_at),
})

const secretToRow = (secret: ServiceSecret): ServiceSecretTable => ({
  id: secret.id,
  service_account_id: secret.serviceAccountId,
  secret_hash: secret.secretHash,
  hint: secret.hint,
  created_at: at(secret.createdAtMs),
  expires_at: at(secret.expiresAtMs),
  last_used_at: atOrNull(secret.lastUsedAtMs),
  revoked_at: atOrNull(secret.revokedAtMs),
})

const keyFromRow = (row: Selectable<ServiceKeyTable>): ServiceKey => ({
  serviceAccountId: row.service_account_id,
  kid: row.kid,
  x: row.x,
  y: row.y,
  createdAtMs: row.created_at.getTime(),
  revokedAtMs: msOrNull(row.revoked_at),
})

const keyToRow = (key: ServiceKey): ServiceKeyTable => ({
  service_account_id: key.serviceAccountId,
  kid: key.kid,
  x: key.x,
  y: key.y,
  created_at: at(key.createdAtMs),
  revoked_at: atOrNull(key.revokedAtMs),
})
