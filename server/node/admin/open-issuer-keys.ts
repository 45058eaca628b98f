import { randomBytes } from "node:crypto"
import { createIssuerKeyRing } from "../../keys/issuer-keys.ts"
import { createIssuerKeyStore } from "../../store/postgres/keys/issuer-keys.ts"
import { createReceiptKeyStore } from "../../store/postgres/keys/receipt-keys.ts"
import { migrate } from "../../store/postgres/migrate.ts"
import type { Config } from "../config.ts"
import { openDatabase } from "../open-database.ts"
import { openSecrets } from "../open-secrets.ts"
import type { Command } from "./command.ts"
import { keysCommand, type OpenIssuerKeys } from "./keys.ts"
import { sealingKeys } from "./sealing-keys.ts"
import { tokenKeys } from "./token-keys.ts"

export const keys: Command = async ([what = "", ...args], config) => {
  if (what === "tokens") return tokenKeys(args, config)
  if (what === "sealing") return sealingKeys(args, config)
  const text = await keysCommand([what, ...args], {
    nowMs: Date.now(),
    withIssuerKeys: (work) => withIssuerKeys(config, work),
  })
  return { text, json: { said: text } }
}

/** Runs work with the keys of the configured installation; creates missing keys. */
async function withIssuerKeys<T>(config: Config, work: (keys: OpenIssuerKeys) => Promise<T>): Promise<T> {
  const database = await openDatabase(config, () => undefined)
  try {
    await migrate(database.db)
    const { secrets } = await openSecrets(database.db, config)
    const receipts = createReceiptKeyStore(database.db)
    const ring = createIssuerKeyRing({
      receiptKeys: receipts,
      keys: createIssuerKeyStore(database.db),
      secrets,
      clock: { nowMs: () => Date.now() },
      random: { bytes: (length) => new Uint8Array(randomBytes(length)) },
      issuer: config.issuer,
      loadKeySet: async () => undefined,
    })
    await ring.start()
    return await work({ issuer: config.issuer, publicKeys: ring.publicKeys, rotate: ring.rotate, receipts })
  } finally {
    await database.close()
  }
}
