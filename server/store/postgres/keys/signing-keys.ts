import type { SigningKeyRecord, SigningKeys } from "@signet/kernel/keys/ports"
import { retried } from "../retry.ts"
import { bytea, instant, json, rowMapping } from "../row-mapping.ts"
import type { SigningKeyTable } from "../schema.ts"
import type { Database } from "../sql.ts"
import { hasRevoked, revocations } from "../token/revocations.ts"

const signingKeyRows = rowMapping<SigningKeyRecord, SigningKeyTable>({
  kid: "kid",
  purpose: "purpose",
  status: "status",
  publicJwk: json("public_jwk"),
  privateSealed: bytea("private_sealed"),
  createdAtMs: instant("created_at"),
  activatedAtMs: instant("activated_at"),
  retiredAtMs: instant("retired_at"),
})

/** @param onRevoked Called after a compromised key was revoked. */
export function createSigningKeys(db: Database, onRevoked: () => void = () => {}): SigningKeys {
  return {
    list: () => list(db),

    async change(work) {
      let isRevoking = false
      const keys = await retried(() =>
        db
          .transaction()
          .setIsolationLevel("read committed")
          .execute(async (trx) => {
            // An update, not a lock: a second process waits for it, or is retried, at every isolation level.
            await trx
              .updateTable("signing_key_set")
              .set((row) => ({ version: row("version", "+", 1) }))
              .where("id", "=", 1)
              .execute()
            const before = await list(trx)
            const changed = work(before).filter((key) => !before.includes(key))
            // A purpose never has two CURRENT keys: the old key changes before the new one is written.
            const current = changed.filter((key) => key.status === "CURRENT")
            const ended = changed.filter(({ status }) => status === "COMPROMISED")
            await revocations(trx).add(ended.map(revocationOf))
            isRevoking = hasRevoked(trx)
            for (const key of [...changed.filter((key) => key.status !== "CURRENT"), ...current]) await put(trx, key)
            return list(trx)
          }),
      )
      if (isRevoking) onRevoked()
      return keys
    },
  }
}

/**
 * Verifiers may cache the key for a day, and its thief can still sign. It stayed published for a day after its last
 * use.
 */
const forgottenAfterMs = 3 * 86_400_000

const revocationOf = ({ kid, createdAtMs, retiredAtMs }: SigningKeyRecord) => ({
  kind: "KEY" as const,
  key: kid,
  expiresAtMs: (retiredAtMs ?? createdAtMs) + forgottenAfterMs,
})

async function list(db: Database): Promise<readonly SigningKeyRecord[]> {
  return (
    await db.selectFrom("signing_key").select(signingKeyRows.columns).orderBy("created_at").orderBy("kid").execute()
  ).map(signingKeyRows.fromRow)
}

async function put(db: Database, key: SigningKeyRecord): Promise<void> {
  const { kid, ...rest } = signingKeyRows.toRow(key)
  await db
    .insertInto("signing_key")
    .values({ kid, ...rest })
    .onConflict((conflict) => conflict.column("kid").doUpdateSet(rest))
    .execute()
}
