export { concat, equalBytes as equal, utf8 } from "@signet/canonical/bytes"

/** A copy. Not `slice`: that of a Node Buffer is a view, and what we copy we wipe. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}

/** Overwrites secrets that are no longer needed. */
export function wipe(secrets: Iterable<Uint8Array>): void {
  for (const secret of secrets) secret.fill(0)
}

const hexDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** Lowercase hexadecimal by table: the names of a thousand members are compared by it. */
export function hex(bytes: Uint8Array): string {
  let text = ""
  for (const byte of bytes) text += hexDigits[byte]
  return text
}
