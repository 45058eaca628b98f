// Runs one operation for all concurrent callers.
import type { Clock } from "@signet/kernel/ports"

/** Joins the running operation of this name, or starts one. */
type SharedRun<Value> = (name: string, run: () => Promise<Value>) => Promise<Value>

/**
 * In an isolate an operation can end without an outcome, because the runtime cancels the requests of a call that ends.
 * So a joining caller waits for a limited time and then starts a new operation.
 *
 * @param longestMs Maximum duration of an operation in milliseconds.
 */
export function createSharedRun<Value>(clock: Clock, longestMs: number): SharedRun<Value> {
  const underWay = new Map<string, { readonly outcome: Promise<Value>; readonly sinceMs: number }>()
  const isLost = ({ sinceMs }: { readonly sinceMs: number }) => clock.nowMs() - sinceMs >= longestMs

  function start(name: string, run: () => Promise<Value>): Promise<Value> {
    // Map order: the oldest come first.
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

/** Wrapped in an object, so that a rejection is not thrown by the race itself. */
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
