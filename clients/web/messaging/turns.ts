/** A tab that was frozen in its turn holds up nobody for longer. */
const patienceMs = 2_000

/** Takes turns with other tabs (Web Locks). A courtesy: who gets no turn soon works all the same. */
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
    // A failure of the work is told below.
    await navigator.locks.request(name, { signal: patience.signal }, () => start().catch(() => undefined))
  } catch {
    // No turn.
  }
  return start()
}
