// The text of a recovery key: 14 groups of four characters, in Crockford's base32. 51.2 characters carry the key's 256
// bits, and the rest 24 bits of a checksum: one typing error in 16 million passes it.
import { sha256 } from "@noble/hashes/sha2.js"
import { concat, equalBytes, utf8 } from "@signet/canonical/bytes"
import { MessagingError } from "../errors.ts"

export const recoveryKeyBytes = 32
const checksumBytes = 3
const groups = 14
const groupLength = 4
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const checksumOf = (key: Uint8Array): Uint8Array =>
  sha256(concat(utf8("signet recovery key v1"), key)).subarray(0, checksumBytes)

/** @param key 32 bytes. */
export function formatRecoveryKey(key: Uint8Array): string {
  let value = 0n
  for (const byte of concat(key, checksumOf(key))) value = (value << 8n) | BigInt(byte)
  let text = ""
  for (let i = 0; i < groups * groupLength; i++) {
    text = alphabet.charAt(Number(value & 31n)) + text
    value >>= 5n
    if (i % groupLength === groupLength - 1 && i < groups * groupLength - 1) text = `-${text}`
  }
  return text
}

/**
 * Reads a typed recovery key. Case, spaces and hyphens do not matter; I and L are read as 1, and O as 0.
 *
 * @returns 32 bytes.
 * @throws MessagingError BACKUP_KEY_INVALID
 */
export function parseRecoveryKey(text: string): Uint8Array {
  const characters = text.toUpperCase().replaceAll(/[\s-]/g, "").replaceAll(/[IL]/g, "1").replaceAll("O", "0")
  if (characters.length !== groups * groupLength) {
    throw invalid(`${characters.length} characters instead of ${groups * groupLength}`)
  }
  let value = 0n
  for (const character of characters) {
    const digit = alphabet.indexOf(character)
    if (digit < 0) throw invalid("a character that no recovery key has")
    value = (value << 5n) | BigInt(digit)
  }
  const bytes = new Uint8Array(recoveryKeyBytes + checksumBytes)
  for (let i = bytes.length - 1; i >= 0; i--) {
    bytes[i] = Number(value & 255n)
    value >>= 8n
  }
  const key = bytes.slice(0, recoveryKeyBytes)
  if (!equalBytes(checksumOf(key), bytes.subarray(recoveryKeyBytes))) throw invalid("a wrong checksum")
  return key
}

const invalid = (has: string): MessagingError =>
  new MessagingError("BACKUP_KEY_INVALID", `recoveryKey has ${has}: compare it with the written one`)
