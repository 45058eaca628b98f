// The program's secrets: from its settings, or in the development profile from the data folder; and which sealing key seals,
// from the database.
import { randomBytes } from "node:crypto"
import type { AuditSeals } from "@signet/kernel/audit/seals"
import type { Secrets } from "@signet/kernel/keys/ports"
import { signingKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { createAuditSeals } from "../keys/audit-seals.ts"
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
  readonly seals: AuditSeals
}

type Of = Pick<Config, "secrets" | "dataFolder">

/**
 * The secrets for a command that runs once. Changes nothing.
 *
 * @throws Error when the settings' sealing keys are not those that are in use.
 */
export async function openSecrets(db: Database, config: Of): Promise<OpenSecrets> {
  const { sealingKey, nextSealingKey, peppers } = config.secrets ?? loadLocalSecrets(config.dataFolder)
  const sealing = createSealingKeys(nextSealingKey === null ? [sealingKey] : [sealingKey, nextSealingKey])
  sealing.follow(await listSealingKeys(db))
  return { sealing, secrets: createSecrets({ peppers, sealingKey: sealing }), seals: createAuditSeals(sealing) }
}

/**
 * Names the settings' sealing key as the one in use, where none is named yet.
 *
 * @throws Error when a signing key does not open under it.
 */
export async function adoptFirstKey(db: Database, { sealing, secrets }: OpenSecrets, nowMs: number): Promise<void> {
  if ((await listSealingKeys(db)).length > 0) return
  const [key] = (await createSigningKeys(db).list()).filter(({ privateSealed }) => privateSealed.length > 0)
  if (key !== undefined && secrets.open(signingKeyLabel(key), key.privateSealed) === undefined) {
    throw new Error(`the signing key ${key.kid} does not open under this sealing key`)
  }
  await adoptSealingKey(db, sealing.sealsWith(), nowMs)
}

export interface FollowedKeys {
  /** Looks which key seals, and says that this process runs. Call it every few seconds. */
  tick(): Promise<void>
  close(): Promise<void>
}

/** Has a server follow a rotation, and be seen by it. */
export async function followSealingKeys(db: Database, opened: OpenSecrets, nowMs: number): Promise<FollowedKeys> {
  const { sealing } = opened
  const process = randomBytes(12).toString("base64url")
  const tell = () => holdSealingKeys(db, process, { keyIds: sealing.heldIds, sealsWith: sealing.sealsWith() })
  const tick = async () => {
    const before = sealing.sealsWith()
    sealing.follow(await tell())
    // A rotation waits until it is told that this process seals with the new key.
    if (sealing.sealsWith() !== before) await tell()
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
