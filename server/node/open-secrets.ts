// The program's secrets: from its settings, or in the development profile from the data folder. The database determines
// which sealing key is current.
import { randomBytes } from "node:crypto"
import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import type { Secrets } from "@signet/kernel/keys/ports"
import { signingKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { createAuditCrypto } from "../keys/audit-crypto.ts"
import { createSealingKeys, type SealingKeys } from "../keys/sealing-keys.ts"
import { createSecrets } from "../keys/secrets.ts"
import { adoptSealingKey, dropHolder, holdSealingKeys, listSealingKeys } from "../store/postgres/keys/sealing-keys.ts"
import { createSigningKeys } from "../store/postgres/keys/signing-keys.ts"
import type { Database } from "../store/postgres/sql.ts"
import type { Config } from "./config.ts"
import { loadLocalSecrets } from "./local-secrets.ts"

export interface OpenSecrets {
  readonly sealing: SealingKeys
  readonly secrets: Secrets
  readonly seals: AuditCrypto
}

type Of = Pick<Config, "secrets" | "dataFolder">

/**
 * Opens the secrets for a one-time command. Read-only.
 *
 * @throws Error if the settings do not contain the current sealing keys.
 */
export async function openSecrets(db: Database, config: Of): Promise<OpenSecrets> {
  const { sealingKey, nextSealingKey, peppers } = config.secrets ?? loadLocalSecrets(config.dataFolder)
  const sealing = createSealingKeys(nextSealingKey === null ? [sealingKey] : [sealingKey, nextSealingKey])
  sealing.follow(await listSealingKeys(db))
  return { sealing, secrets: createSecrets({ peppers, sealingKey: sealing }), seals: createAuditCrypto(sealing) }
}

/**
 * Records the settings' sealing key as the current one if none is recorded yet.
 *
 * @throws Error if a signing key cannot be opened with it.
 */
export async function adoptFirstKey(db: Database, { sealing, secrets }: OpenSecrets, nowMs: number): Promise<void> {
  if ((await listSealingKeys(db)).length > 0) return
  const [key] = (await createSigningKeys(db).list()).filter(({ privateSealed }) => privateSealed.length > 0)
  if (key !== undefined && secrets.open(signingKeyLabel(key), key.privateSealed) === undefined) {
    throw new Error(`the signing key ${key.kid} does not open under this sealing key`)
  }
  await adoptSealingKey(db, sealing.sealsWith(), nowMs)
}

interface FollowedKeys {
  /** Reads which key is current, and records that this process runs. Call it every few seconds. */
  tick(): Promise<void>
  close(): Promise<void>
}

/** Lets a server follow a rotation of the sealing key, and makes the server visible to it. */
export async function followSealingKeys(db: Database, opened: OpenSecrets, nowMs: number): Promise<FollowedKeys> {
  const { sealing } = opened
  const process = randomBytes(12).toString("base64url")
  const hold = () => holdSealingKeys(db, process, { keyIds: sealing.heldIds, sealsWith: sealing.sealsWith() })
  const tick = async () => {
    const before = sealing.sealsWith()
    sealing.follow(await hold())
    // A rotation waits until every process has reported that it uses the new key.
    if (sealing.sealsWith() !== before) await hold()
  }
  await adoptFirstKey(db, opened, nowMs)
  try {
    await tick()
  } catch (error) {
    await dropHolder(db, process)
    throw error
  }
  return { tick, close: () => dropHolder(db, process) }
}
