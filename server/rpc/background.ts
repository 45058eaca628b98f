/** Runs work after the response, so that its duration reveals nothing to the caller. */
export interface Background {
  /** Starts the work. Its failure is logged and not thrown. */
  run(work: () => Promise<unknown>): void
  /** Resolves when all started work has ended. */
  settled(): Promise<void>
}

export function createBackground(onFault: (fault: unknown) => void): Background {
  const running = new Set<Promise<unknown>>()
  return {
    run(work) {
      const running_ = work()
        .catch(onFault)
        .finally(() => running.delete(running_))
      running.add(running_)
    },
    async settled() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
