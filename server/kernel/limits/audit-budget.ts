// Limits the number of refusals in the audit log. The log is permanent and anyone can cause refusals, so those over a
// budget are only counted. The count is written after the window has ended.

/** Ten minutes. */
export const budgetWindowMs = 600_000

/** Events with one budget. `facts` describe all of them, for the row that records their count. */
export interface Share<Facts> {
  readonly key: string
  readonly most: number
  readonly facts: Facts
}

/** The events of one share and window that were not written. */
export interface Excess<Facts> {
  readonly facts: Facts
  readonly count: number
}

export interface AuditBudget<Facts> {
  /**
   * Takes one event from each share. If a share is exhausted, returns false and counts the event for the first such
   * share.
   */
  take(shares: readonly Share<Facts>[], nowMs: number): boolean
  /** Returns the counts of ended windows, each once. */
  takeDue(nowMs: number): readonly Excess<Facts>[]
  /** Returns counts that could not be written, to be taken later. */
  owe(excess: readonly Excess<Facts>[]): void
}

/** @param maxShares Maximum number of shares in a window; the least recently used one is evicted. */
export function createAuditBudget<Facts>(maxShares = 10_000): AuditBudget<Facts> {
  let window = 0
  let counters = new Map<string, { facts: Facts; written: number; count: number }>()
  let due: Excess<Facts>[] = []

  const close = (ended: Iterable<Excess<Facts>>) => {
    for (const { facts, count } of ended) if (count > 0) due.push({ facts, count })
  }
  const roll = (nowMs: number) => {
    const current = Math.floor(nowMs / budgetWindowMs)
    if (current <= window) return
    close(counters.values())
    counters = new Map()
    window = current
  }
  const counterOf = ({ key, facts }: Share<Facts>) => {
    const counter = counters.get(key) ?? { facts, written: 0, count: 0 }
    counters.delete(key)
    counters.set(key, counter)
    const [oldest] = counters
    if (counters.size > maxShares && oldest !== undefined) {
      counters.delete(oldest[0])
      close([oldest[1]])
    }
    return counter
  }

  return {
    take(shares, nowMs) {
      roll(nowMs)
      const used = shares.map((share) => ({ share, counter: counterOf(share) }))
      const exceeded = used.find(({ share, counter }) => counter.written >= share.most)
      if (exceeded !== undefined) exceeded.counter.count += 1
      else for (const { counter } of used) counter.written += 1
      return exceeded === undefined
    },
    takeDue(nowMs) {
      roll(nowMs)
      const taken = due
      due = []
      return taken
    },
    owe(excess) {
      due.push(...excess)
    },
  }
}
