/** The longest wait for a tab that was frozen while it held the lock, in milliseconds. */
const patienceMs = 2_000

/** Runs work under a Web Lock shared with other tabs. Best effort: after the wait it runs without the lock. */
export async function inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(), patienceMs)
  let turn: Promise<T> | undefined
  const start = () => {
    clearTimeout(timer)
    turn ??= work()
    return turn
  }
  try {
    // A failure of the work is returned below.
    await navigator.locks.request(name, { signal: patience.signal }, () => start().catch(() => undefined))
  } catch {
    // The wait was aborted.
  }
  return start()
}
