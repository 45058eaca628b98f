// Hashes and seals under secrets outside the database. Synchronous, because node:crypto is faster that way.
import { createHash, createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto"
import type { Secrets } from "@signet/kernel/keys/ports"
import { openUnder, sealUnder } from "./seal-under.ts"
import { createSealingKeys, type SealingKeys } from "./sealing-keys.ts"

/** A key of token hashes. */
export interface Pepper {
  /** The pepper with the highest version makes new hashes. */
  version: number
  /** 32 bytes. */
  key: Uint8Array
}

/**
 * @param options.peppers At least one. Keep an old one until every token that was hashed under it has expired.
 * @param options.sealingKey 32 bytes; or the keys of a rotation.
 * @throws RangeError for keys of another length, and for two peppers of one version.
 */
export function createSecrets(options: { peppers: readonly Pepper[]; sealingKey: Uint8Array | SealingKeys }): Secrets {
  const peppers = options.peppers.toSorted((a, b) => b.version - a.version)
  if (new Set(peppers.map((pepper) => pepper.version)).size !== peppers.length) {
    throw new RangeError("two peppers have the same version")
  }
  for (const { key } of peppers) requireKeyLength("a pepper", key)
  const { sealingKey } = options
  const sealing = sealingKey instanceof Uint8Array ? createSealingKeys([sealingKey]) : sealingKey
  // Imported once, because an import costs more than a hash.
  const keys = peppers.map(({ key }) => createSecretKey(key))
  const [newestKey] = keys
  if (newestKey === undefined) throw new RangeError("at least one pepper is required")

  return {
    hash: (purpose, text) => hmac(newestKey, purpose, text),
    hashes: (purpose, text) => keys.map((key) => hmac(key, purpose, text)),
    equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
    digest: (text) => new Uint8Array(createHash("sha256").update(text, "utf8").digest()),
    sealSuccessor: (of, successor) => sealUnder(successorKey(of), "", Buffer.from(successor, "utf8")),
    openSuccessor(of, sealed) {
      const opened = openUnder(successorKey(of), "", sealed)
      return opened && Buffer.from(opened).toString("utf8")
    },
    seal: (label, plaintext) => sealing.seal("service", label, plaintext),
    open: (label, sealed) => sealing.open("service", label, sealed),
    sealsWith: sealing.sealsWith,
  }
}

function requireKeyLength(what: string, key: Uint8Array): void {
  if (key.length !== 32) throw new RangeError(`${what} has ${key.length} bytes instead of 32`)
}

/** The zero byte separates purpose and text unambiguously. */
function hmac(key: KeyObject, purpose: string, text: string): Uint8Array {
  return new Uint8Array(createHmac("sha256", key).update(`${purpose}\0`, "utf8").update(text, "utf8").digest())
}

/** HKDF-SHA-256 of old token and retry key. The token's length is fixed, so the concatenation is unambiguous. */
function successorKey(of: { tokenId: string; token: string; retryKey: string }): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", of.token + of.retryKey, "", `rt-successor|${of.tokenId}`, 32))
}
