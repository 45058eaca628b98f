// Ids as texts and as the 16 bytes that signed messages carry: a prefix, and Crockford's base32 in lower case.
import { MessagingError } from "./errors.ts"

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
const pattern = /^([a-z]{3})_([0-7][0-9a-hjkmnp-tv-z]{25})$/

type IdKind = "app" | "ten" | "prn" | "dev" | "cnv" | "clm" | "att" | "wel"

/** The id of these 16 bytes. */
export function idOf(kind: IdKind, bytes: Uint8Array): string {
  if (bytes.length !== 16) throw new RangeError("an id is 16 bytes")
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  let text = ""
  for (let i = 0; i < 26; i++) {
    text = alphabet.charAt(Number(value & 31n)) + text
    value >>= 5n
  }
  return `${kind}_${text}`
}

export function isId(kind: IdKind, text: string): boolean {
  return pattern.exec(text)?.[1] === kind
}

/** Checks an id in a response. @throws MessagingError ANSWER_REFUSED for a text that is no id of that kind. */
export function answeredId(kind: IdKind, text: string): string {
  if (!isId(kind, text)) throw new MessagingError("ANSWER_REFUSED", `the service answered with no ${kind}_ id`)
  return text
}

/** @throws RangeError for a text that is no id of that kind. */
export function bytesOfId(kind: IdKind, text: string): Uint8Array {
  if (!isId(kind, text)) throw new RangeError(`not a ${kind}_ id`)
  let value = 0n
  for (const character of text.slice(4)) value = (value << 5n) | BigInt(alphabet.indexOf(character))
  const bytes = new Uint8Array(16)
  for (let i = 15; i >= 0; i--) {
    bytes[i] = Number(value & 255n)
    value >>= 8n
  }
  return bytes
}
