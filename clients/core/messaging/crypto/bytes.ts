const encoder = new TextEncoder()

/** The UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}

/** One array holding the parts in order. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const whole = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

/** A copy. Not `slice`: that of a Node Buffer is a view, and what we copy we wipe. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes)
}

/** Whether two arrays hold the same bytes, in time that depends on their length only. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}

/** Overwrites secrets that are no longer needed. */
export function wipe(secrets: Iterable<Uint8Array>): void {
  for (const secret of secrets) secret.fill(0)
}

const hexDigits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** Lowercase hexadecimal, for map keys. */
export function hex(bytes: Uint8Array): string {
  let text = ""
  for (const byte of bytes) text += hexDigits[byte]
  return text
}
