// The format of sealed values: AES-256-GCM.
import { createCipheriv, createDecipheriv } from "node:crypto"
import { pooledRandomBytes } from "./pooled-random.ts"

const ivLength = 12
const tagLength = 16
/** The first byte of a sealed value: its format. */
const sealedVersion = 1

/** Returns version, nonce (12 bytes), ciphertext and tag (16 bytes). */
export function sealUnder(key: Uint8Array, label: string, plaintext: Uint8Array): Uint8Array {
  const iv = pooledRandomBytes(ivLength)
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: tagLength })
  cipher.setAAD(Buffer.from(label, "utf8"))
  return new Uint8Array(
    Buffer.concat([Uint8Array.of(sealedVersion), iv, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]),
  )
}

/** Undefined if the key, the label or the bytes are wrong. */
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
