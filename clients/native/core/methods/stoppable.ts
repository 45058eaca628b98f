import { ArgumentError } from "../failure.ts"

/** A call that another call ends. At most one runs. */
export interface Stoppable {
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
  stop(): void
}

/** @param endedBy The method that ends a running call. */
export function createStoppable(endedBy: string): Stoppable {
  let running: AbortController | undefined
  return {
    async run(work) {
      if (running !== undefined) throw new ArgumentError(`the call runs already: call ${endedBy} before`)
      const own = new AbortController()
      running = own
      try {
        return await work(own.signal)
      } finally {
        if (running === own) running = undefined
      }
    },
    stop: () => running?.abort(),
  }
}
