// What may be read of a claim of a provider's token.

/** Clocks may differ by this much. */
export const skewSeconds = 30

export function isOneOf(value: unknown, accepted: readonly string[]): value is string {
  return typeof value === "string" && value !== "" && accepted.includes(value)
}

/**
 * Text that is kept as it is, or not at all: without U+0000, which no database keeps, and unpaired surrogates, which all
 * become one and the same character on the way there, so that two subjects would become one.
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
