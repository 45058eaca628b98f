/**
 * What this process knows to be refused, so that whoever keeps calling costs no statement: until the time that the
 * caller was told, before which no bucket fills up by itself and no lock ends.
 */
export interface RefusedMemory {
  /** Until when it is refused, in milliseconds since the Unix epoch, or null. */
  until(key: string, nowMs: number): number | null
  remember(key: string, untilMs: number): void
}

/** @param most Keys at most; the oldest gives way. */
export function createRefusedMemory(most = 10_000): RefusedMemory {
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
