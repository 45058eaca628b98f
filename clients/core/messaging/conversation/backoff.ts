import { Code, ConnectError } from "@connectrpc/connect"
import { type FailureReason, failureOf } from "../../errors.ts"
import type { Clock, Random } from "../../ports.ts"

export const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))

/** Waits until the time has passed or the signal aborts, which also stops the timer. */
export function pauseUnless(clock: Clock, signal: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, end)
    signal.addEventListener("abort", end, { once: true })
    if (signal.aborted) end()
    function end() {
      cancel()
      signal.removeEventListener("abort", end)
      resolve()
    }
  })
}

const firstDelayMs = 50
const longestDelayMs = 5_000
/** The longest accepted `retry_after`. For a longer one, the call fails instead. */
export const longestAskedMs = 30_000

/**
 * Exponential backoff with jitter of up to one half, so that clients that collided do not collide again.
 *
 * @param tries From 1.
 */
export function retryDelayMs(random: Random, tries: number): number {
  const full = Math.min(firstDelayMs * 2 ** tries, longestDelayMs)
  const [byte = 0] = random.bytes(1)
  return full * (1 - byte / 512)
}

/** PLACE_HELD: the tenant is moving to another backend, with its data. */
const unreachable: readonly FailureReason[] = ["UNAVAILABLE", "UNREACHABLE", "PLACE_HELD"]

/** True if the outcome of a call is unknown. Repeat the same call. */
export function isUnreachable(error: unknown): boolean {
  const failure = failureOf(error)
  if (failure !== undefined) return unreachable.includes(failure.reason)
  if (!(error instanceof ConnectError)) return error instanceof TypeError && /fetch/.test(error.message)
  return [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Aborted, Code.Unknown, Code.Internal].includes(
    error.code,
  )
}
