// Opaque secrets: a prefix that scanners know, 12 characters to look up by, 32 that are secret, 6 that check the rest.
import type { Random } from "../ports.ts"

/** Of a refresh token, a personal access token, a service's secret, an invitation. */
export type OpaquePrefix = "sgrt_" | "sgpat_" | "sgsec_" | "sginv_"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const lookupLength = 12
const secretLength = 32
const checkLength = 6
const shape = /^[0-9A-Za-z]{50}$/

/**
 * A new secret: the prefix and 50 characters of base62, of which 32 (190 bits) are secret.
 *
 * @see parseOpaque
 */
export function buildOpaque(prefix: OpaquePrefix, random: Random): string {
  const body = prefix + randomBase62(lookupLength + secretLength, random)
  return body + checkOf(body)
}

/**
 * The text, if it is such a secret by its shape and checksum alone; otherwise undefined. Tells typing errors and
 * garbage from tokens without a look-up; it says nothing about whether the token was ever issued.
 */
export function parseOpaque(prefix: OpaquePrefix, text: string): string | undefined {
  if (!text.startsWith(prefix) || !shape.test(text.slice(prefix.length))) return undefined
  const body = text.slice(0, -checkLength)
  return checkOf(body) === text.slice(-checkLength) ? text : undefined
}

/** The 12 characters after the prefix, which may be stored in the clear. */
export function lookupIdOf(prefix: OpaquePrefix, token: string): string {
  return token.slice(prefix.length, prefix.length + lookupLength)
}

/** Characters of base62, each as likely as the others: bytes from 248 on are thrown away, because 62 * 4 = 248. */
export function randomBase62(length: number, random: Random): string {
  let text = ""
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62)
    }
  }
  return text
}

/** The checksum as 6 digits of base62, the highest first: 62^6 > 2^32. */
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
