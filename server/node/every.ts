/**
 * Runs work periodically, one run at a time.
 *
 * @returns A function that stops it and resolves once a current run has ended.
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
