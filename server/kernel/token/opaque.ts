// Opaque secrets: a prefix for secret scanners, 12 characters for lookup, 32 secret characters, and a 6-character
// checksum.
import type { Random } from "../ports.ts"

/** Refresh token, personal access token, service secret, invitation. */
export type OpaquePrefix = "sgrt_" | "sgpat_" | "sgsec_" | "sginv_"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const lookupLength = 12
const secretLength = 32
const checkLength = 6
const shape = /^[0-9A-Za-z]{50}$/

/**
 * Creates a secret: the prefix and 50 base62 characters, of which 32 (190 bits) are secret.
 *
 * @see parseOpaque
 */
export function buildOpaque(prefix: OpaquePrefix, random: Random): string {
  const body = prefix + randomBase62(lookupLength + secretLength, random)
  return body + checkOf(body)
}

/**
 * Returns the text if its shape and checksum are valid; otherwise undefined. Detects typing errors without a lookup. It
 * does not say whether the secret was ever issued.
 */
export function parseOpaque(prefix: OpaquePrefix, text: string): string | undefined {
  if (!text.startsWith(prefix) || !shape.test(text.slice(prefix.length))) return undefined
  const body = text.slice(0, -checkLength)
  return checkOf(body) === text.slice(-checkLength) ? text : undefined
}

/** Returns the 12 characters after the prefix, which may be stored in plain text. */
export function lookupIdOf(prefix: OpaquePrefix, token: string): string {
  return token.slice(prefix.length, prefix.length + lookupLength)
}

/** Returns uniformly distributed base62 characters. Bytes from 248 on are rejected, because 62 * 4 = 248. */
export function randomBase62(length: number, random: Random): string {
  let text = ""
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62)
    }
  }
  return text
}

/** The checksum as 6 base62 digits, most significant first: 62^6 > 2^32. */
function checkOf(body: string): string {
  let rest = crc32(body)
  let text = ""
  for (let i = 0; i < checkLength; i++) {
    text = alphabet.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** CRC-32/ISO-HDLC of ASCII text, 0 to 2^32 - 1. */
function crc32(ascii: string): number {
  let crc = 0xffffffff
  for (let i = 0; i < ascii.length; i++) {
    crc ^= ascii.charCodeAt(i)
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}
