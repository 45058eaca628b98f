/** After this time a refusal is asked for again, so that every process notices a lifted lockout. */
export const recheckMs = 10_000

/**
 * Refusals that this process remembers, so that repeated calls cost few database statements. Before the time in the
 * refusal no bucket refills and no lock ends, unless an administrator lifts it.
 */
export interface RefusalCache {
  /** When the refusal ends, in milliseconds since the Unix epoch; null if the key is not known to be refused. */
  until(key: string, nowMs: number): number | null
  remember(key: string, untilMs: number, nowMs: number): void
  /** Forgets every refusal, after one was lifted. */
  clear(): void
}

/** @param most Maximum number of keys; the oldest is evicted. */
export function createRefusalCache(most = 10_000): RefusalCache {
  const untils = new Map<string, { readonly untilMs: number; readonly recheckAtMs: number }>()
  return {
    until(key, nowMs) {
      const known = untils.get(key)
      if (known === undefined) return null
      if (known.untilMs > nowMs && known.recheckAtMs > nowMs) return known.untilMs
      untils.delete(key)
      return null
    },
    remember(key, untilMs, nowMs) {
      untils.delete(key)
      untils.set(key, { untilMs, recheckAtMs: nowMs + recheckMs })
      if (untils.size <= most) return
      const [oldest] = untils.keys()
      if (oldest !== undefined) untils.delete(oldest)
    },
    clear: () => untils.clear(),
  }
}
