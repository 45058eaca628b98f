/** No bytes: how a canonical message holds an absent `bytes` field. */
export const absent: Uint8Array = new Uint8Array(0)

const text = new TextEncoder()

/** The UTF-8 of a text. */
export function utf8(value: string): Uint8Array {
  return text.encode(value)
}

/** The parts, one after the other. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Whether two byte strings are equal; the time taken depends on their lengths alone. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}

/** Whether a field holds what is expected, where `undefined` expects it to be absent. */
export function holds(field: Uint8Array, expected: Uint8Array | undefined): boolean {
  return equalBytes(field, expected ?? absent)
}

/** Bytewise order, a prefix first: negative, zero or positive. */
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
