/**
 * Runs work again and again, one run at a time, until it is stopped.
 *
 * @returns Stops it, and resolves when a run that is under way has ended.
 */
export function every(
  ms: number,
  work: () => Promise<unknown>,
  onFault: (fault: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  let isBusy = false
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    running = work()
      .then(() => {}, onFault)
      .finally(() => {
        isBusy = false
      })
  }, ms)
  return async () => {
    clearInterval(timer)
    await running
  }
}
