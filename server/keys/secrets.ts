// Hashing and sealing under secrets that are outside the database. Synchronous: node:crypto is faster so.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from "node:crypto"
import type { Secrets } from "@signet/kernel/key-ports"

/** A key that token hashes are made under. */
export interface Pepper {
  /** The highest is the newest, and makes new hashes. */
  version: number
  /** 32 bytes. */
  key: Uint8Array
}

const ivLength = 12
const tagLength = 16
/** First byte of everything sealed: which scheme sealed it. */
const sealedVersion = 1

/**
 * @param options.peppers At least one. Keep the old ones until no token that was hashed under them lives.
 * @param options.sealingKey 32 bytes, for what the service itself must open again.
 * @throws RangeError for keys of another length, and for two peppers of one version: at start, not at the first call.
 */
export function createSecrets(options: { peppers: readonly Pepper[]; sealingKey: Uint8Array }): Secrets {
  const peppers = options.peppers.toSorted((a, b) => b.version - a.version)
  if (new Set(peppers.map((pepper) => pepper.version)).size !== peppers.length) {
    throw new RangeError("two peppers have the same version")
  }
  for (const { key } of peppers) requireKeyLength("a pepper", key)
  requireKeyLength("the sealing key", options.sealingKey)
  // Imported once: importing costs more than hashing.
  const keys = peppers.map(({ key }) => createSecretKey(key))
  const [newestKey] = keys
  if (newestKey === undefined) throw new RangeError("at least one pepper is needed")

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
    seal: (label, plaintext) => sealUnder(options.sealingKey, label, plaintext),
    open: (label, sealed) => openUnder(options.sealingKey, label, sealed),
  }
}

function requireKeyLength(what: string, key: Uint8Array): void {
  if (key.length !== 32) throw new RangeError(`${what} has ${key.length} bytes instead of 32`)
}

/** The zero byte ends the purpose, so that no purpose and text can be read as another. */
function hmac(key: KeyObject, purpose: string, text: string): Uint8Array {
  return new Uint8Array(createHmac("sha256", key).update(`${purpose}\0`, "utf8").update(text, "utf8").digest())
}

/** HKDF-SHA-256 of the old token and the retry key. The token's length is fixed, so the seam cannot be moved. */
function successorKey(of: { tokenId: string; token: string; retryKey: string }): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", of.token + of.retryKey, "", `rt-successor|${of.tokenId}`, 32))
}

/** Version, 12 bytes of nonce, ciphertext, 16 bytes of tag. */
export function sealUnder(key: Uint8Array, label: string, plaintext: Uint8Array): Uint8Array {
  const iv = randomBytes(ivLength)
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: tagLength })
  cipher.setAAD(Buffer.from(label, "utf8"))
  return new Uint8Array(
    Buffer.concat([Uint8Array.of(sealedVersion), iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]),
  )
}

/** Undefined when it does not open. */
export function openUnder(key: Uint8Array, label: string, sealed: Uint8Array): Uint8Array | undefined {
  if (sealed.length < 1 + ivLength + tagLength || sealed[0] !== sealedVersion) return undefined
  const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(1, 1 + ivLength), { authTagLength: tagLength })
  decipher.setAAD(Buffer.from(label, "utf8"))
  decipher.setAuthTag(sealed.subarray(-tagLength))
  try {
    return new Uint8Array(Buffer.concat([decipher.update(sealed.subarray(1 + ivLength, -tagLength)), decipher.final()]))
  } catch {
    return undefined
  }
}
