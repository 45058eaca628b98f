// AES-256-GCM as everything sealed has it.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"

const ivLength = 12
const tagLength = 16
/** First byte of everything sealed: which scheme sealed it. */
const sealedVersion = 1

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
