export { concat, equalBytes as equal, utf8 } from "@signet/canonical/bytes"

/** Copies bytes. `slice` of a Node Buffer would be a view, and wiping the copy would wipe the original. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}

/** Overwrites secrets that are no longer needed. */
export function wipe(secrets: Iterable<Uint8Array>): void {
  for (const secret of secrets) secret.fill(0)
}

const hexDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** Lowercase hexadecimal, by a table for speed: members are looked up by it. */
export function hex(bytes: Uint8Array): string {
  let text = ""
  for (const byte of bytes) text += hexDigits[byte]
  return text
}
