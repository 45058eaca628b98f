// Validates claims of a provider's token.

/** Accepted clock skew. */
export const skewSeconds = 30

export function isOneOf(value: unknown, accepted: readonly string[]): value is string {
  return typeof value === "string" && value !== "" && accepted.includes(value)
}

/**
 * True for text that a database stores unchanged. U+0000 cannot be stored, and unpaired surrogates all become the same
 * replacement character, which would merge two subjects.
 */
export function isText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value.length <= maxLength && !value.includes("\0") && value.isWellFormed()
}

/** Seconds since the Unix epoch; fractions are allowed (RFC 7519 section 2, NumericDate). */
export function isTime(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < 2 ** 40
}

export function isPast(value: unknown, nowSeconds: number): value is number {
  return isTime(value) && value <= nowSeconds + skewSeconds
}
