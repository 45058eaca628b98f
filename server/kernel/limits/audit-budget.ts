// How many refusals are written to the audit one by one. The audit is kept, and strangers can be refused without end: what
// exceeds a budget is counted, and the count is written when its window has ended.

/** Ten minutes. */
export const budgetWindowMs = 600_000

/** Events that share a budget. `facts` describe all of them, for the row that carries their count. */
export interface Share<Facts> {
  readonly key: string
  readonly most: number
  readonly facts: Facts
}

/** Events that were not written, of one share and one window. */
export interface Excess<Facts> {
  readonly facts: Facts
  readonly count: number
}

export interface AuditBudget<Facts> {
  /** Takes one event from each share. False when one has none left, and the first such share counts the event. */
  take(shares: readonly Share<Facts>[], nowMs: number): boolean
  /** Hands over the counts of windows that have ended: each once. */
  takeDue(nowMs: number): readonly Excess<Facts>[]
  /** Takes back counts that could not be written. */
  owe(excess: readonly Excess<Facts>[]): void
}

/** @param mostShares Counted at once in a window: the share that was used longest ago gives way. */
export function createAuditBudget<Facts>(mostShares = 10_000): AuditBudget<Facts> {
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
    if (counters.size > mostShares && oldest !== undefined) {
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
