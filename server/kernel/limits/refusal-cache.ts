/**
 * Refusals that this process remembers, so that repeated calls cost no database statement. An entry lasts until the
 * time in the refusal: before it no bucket refills and no lock ends.
 */
export interface RefusalCache {
  /** When the refusal ends, in milliseconds since the Unix epoch; null if the key is not refused. */
  until(key: string, nowMs: number): number | null
  remember(key: string, untilMs: number): void
}

/** @param most Maximum number of keys; the oldest is evicted. */
export function createRefusalCache(most = 10_000): RefusalCache {
  const untils = new Map<string, number>()
  return {
    until(key, nowMs) {
      const untilMs = untils.get(key)
      if (untilMs === undefined) return null
      if (untilMs > nowMs) return untilMs
      untils.delete(key)
      return null
    },
    remember(key, untilMs) {
      untils.delete(key)
      untils.set(key, untilMs)
      if (untils.size <= most) return
      const [oldest] = untils.keys()
      if (oldest !== undefined) untils.delete(oldest)
    },
  }
}
