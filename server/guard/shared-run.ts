// One run for all who want the same at the same time.
import type { Clock } from "@signet/kernel/ports"

/** Joins the run of that name that is under way, or starts one. */
export type SharedRun<Value> = (name: string, run: () => Promise<Value>) => Promise<Value>

/**
 * In an isolate a run may end without an outcome, with the call that it came of: whoever leaves takes its questions along.
 * So who joins waits only so long, and then runs it anew.
 *
 * @param longestMs How long a run may take.
 */
export function createSharedRun<Value>(clock: Clock, longestMs: number): SharedRun<Value> {
  const underWay = new Map<string, { readonly outcome: Promise<Value>; readonly sinceMs: number }>()
  const isLost = ({ sinceMs }: { readonly sinceMs: number }) => clock.nowMs() - sinceMs >= longestMs

  function start(name: string, run: () => Promise<Value>): Promise<Value> {
    // The oldest are the first.
    for (const [lost, of] of underWay) {
      if (!isLost(of)) break
      underWay.delete(lost)
    }
    const outcome = run().finally(() => {
      if (underWay.get(name)?.outcome === outcome) underWay.delete(name)
    })
    underWay.delete(name)
    underWay.set(name, { outcome, sinceMs: clock.nowMs() })
    return outcome
  }

  return async (name, run) => {
    const there = underWay.get(name)
    if (there === undefined || isLost(there)) return start(name, run)
    const joined = await settled(there.outcome, longestMs)
    if (joined.is === "settled") return joined.outcome
    const now = underWay.get(name)
    return now === undefined || now === there ? start(name, run) : now.outcome
  }
}

/** Wrapped, so that a failure is told as one. */
async function settled<Value>(
  outcome: Promise<Value>,
  ms: number,
): Promise<{ readonly is: "settled"; readonly outcome: Promise<Value> } | { readonly is: "lost" }> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const lost = new Promise<{ readonly is: "lost" }>((resolve) => {
    timer = setTimeout(() => resolve({ is: "lost" }), ms)
  })
  const is = { is: "settled", outcome } as const
  try {
    return await Promise.race([
      outcome.then(
        () => is,
        () => is,
      ),
      lost,
    ])
  } finally {
    clearTimeout(timer)
  }
}
