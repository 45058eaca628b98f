import { ArgumentError } from "../failure.ts"

/** A call that another call ends. At most one runs: the next one waits for the end of a stopped one. */
export interface Stoppable {
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
  stop(): void
}

interface Running {
  readonly controller: AbortController
  readonly ended: Promise<void>
}

/** @param endedBy The method that ends a running call. */
export function createStoppable(endedBy: string): Stoppable {
  let running: Running | undefined
  return {
    async run(work) {
      while (running?.controller.signal.aborted) await running.ended
      if (running !== undefined) throw new ArgumentError(`the call runs already: call ${endedBy} before`)
      const controller = new AbortController()
      const { promise: ended, resolve: end } = Promise.withResolvers<void>()
      running = { controller, ended }
      try {
        return await work(controller.signal)
      } finally {
        running = undefined
        end()
      }
    },
    stop: () => running?.controller.abort(),
  }
}
