/** Empty bytes: how a canonical message represents an absent `bytes` field. */
export const absent: Uint8Array = new Uint8Array(0)

/** Created by the first use: an engine without it may load this module. */
let encoder: TextEncoder | undefined

/** Encodes a string as UTF-8. */
export function utf8(value: string): Uint8Array {
  encoder ??= new TextEncoder()
  return encoder.encode(value)
}

/** Concatenates the parts. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Compares two byte strings. The time depends only on their lengths. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}

/** True if a field has the expected value; `undefined` expects an absent field. */
export function holds(field: Uint8Array, expected: Uint8Array | undefined): boolean {
  return equalBytes(field, expected ?? absent)
}

/** Bytewise order, a prefix first. Returns a negative number, zero or a positive number. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shorter = Math.min(a.length, b.length)
  for (let i = 0; i < shorter; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** Lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
}
