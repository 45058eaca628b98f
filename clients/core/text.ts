import type { Random } from "./ports.ts"

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** base64url without padding (RFC 4648 section 5). */
export function base64url(bytes: Uint8Array): string {
  let text = ""
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(i, i + 3)
    const word = (a << 16) | (b << 8) | c
    const digits = Math.min(4, bytes.length - i + 1)
    for (let digit = 0; digit < digits; digit++) text += alphabet[(word >> (18 - 6 * digit)) & 63]
  }
  return text
}

/** @param bits A multiple of eight. */
export const randomText = (random: Random, bits: number): string => base64url(random.bytes(bits / 8))

/** From 0 to 1. */
export function randomFraction(random: Random): number {
  const [high = 0, low = 0] = random.bytes(2)
  return (high * 256 + low) / 65_536
}
