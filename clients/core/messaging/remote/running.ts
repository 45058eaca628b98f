import type { CoreCalls } from "./core.ts"

/** Any number of callers of `run` share one Run of the core. It ends with the last of them. */
export function createRunning(calls: CoreCalls): { run(signal: AbortSignal): Promise<void> } {
  let shared: Promise<void> | undefined
  /** The end of the last Run: the next one begins after it. */
  let ended: Promise<unknown> = Promise.resolve()
  let callers = 0

  function join(): Promise<void> {
    callers += 1
    shared ??= ended.then(() => calls.run({})).then(() => undefined)
    return shared
  }

  async function leave(): Promise<void> {
    callers -= 1
    if (callers > 0 || shared === undefined) return
    ended = shared.catch(() => undefined)
    shared = undefined
    // A closed core has ended its Run.
    await calls.stop({}).catch(() => undefined)
    await ended
  }

  return {
    async run(signal) {
      if (signal.aborted) return
      let stop = () => {}
      const aborted = new Promise<void>((resolve) => {
        stop = resolve
        signal.addEventListener("abort", stop, { once: true })
      })
      try {
        await Promise.race([join(), aborted])
      } finally {
        signal.removeEventListener("abort", stop)
        await leave()
      }
    },
  }
}
