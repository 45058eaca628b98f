/** Work that goes on when its call was answered: how long it takes tells the caller nothing. */
export interface Background {
  /** Begins it. What it fails with is told to the log, and to nobody else. */
  run(work: () => Promise<unknown>): void
  /** Resolves when everything that was begun has ended. */
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
