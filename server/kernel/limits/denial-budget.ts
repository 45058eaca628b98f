/** How many denials of a caller are written down one by one: a caller who is let in may be denied as often as they like. */
export interface DenialBudget {
  /**
   * Counts a denial.
   *
   * @returns Whether it is written down, and how many of the caller's were not since the last one that was.
   */
  take(caller: string, nowMs: number): { readonly isWritten: boolean; readonly unwritten: number }
}

const minuteMs = 60_000

/**
 * @param most Written down of a caller in a minute, by this process.
 * @param mostCallers Remembered at once; the oldest gives way.
 */
export function createDenialBudget(most = 60, mostCallers = 10_000): DenialBudget {
  const callers = new Map<string, { minute: number; denials: number; unwritten: number }>()
  return {
    take(caller, nowMs) {
      const minute = Math.floor(nowMs / minuteMs)
      const known = callers.get(caller)
      const of = known?.minute === minute ? known : { minute, denials: 0, unwritten: known?.unwritten ?? 0 }
      callers.delete(caller)
      callers.set(caller, of)
      if (callers.size > mostCallers) callers.delete(callers.keys().next().value ?? "")
      of.denials += 1
      if (of.denials > most) {
        of.unwritten += 1
        return { isWritten: false, unwritten: 0 }
      }
      const { unwritten } = of
      of.unwritten = 0
      return { isWritten: true, unwritten }
    },
  }
}
