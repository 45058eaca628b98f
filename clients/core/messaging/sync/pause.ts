import { Code, ConnectError } from "@connectrpc/connect"
import { type FailureReason, failureOf } from "../../errors.ts"
import type { Clock, Random } from "../../ports.ts"

export const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))

const firstDelayMs = 50
const longestDelayMs = 5_000
/** The longest that anything waits because the service asked for it: whoever would wait longer is told, and comes back. */
export const longestAskedMs = 30_000

/** Twice as long each time, and by chance up to half less: who collided does not collide again. @param tries from 1. */
export function retryDelayMs(random: Random, tries: number): number {
  const full = Math.min(firstDelayMs * 2 ** tries, longestDelayMs)
  const [byte = 0] = random.bytes(1)
  return full * (1 - byte / 512)
}

/** PLACE_HELD: the tenant is moving to another backend, which will know what this one knew. */
const unreachable: readonly FailureReason[] = ["UNAVAILABLE", "UNREACHABLE", "PLACE_HELD"]

/** Whether nothing is known of what the service made of a call: it is made again, the same. */
export function isUnreachable(error: unknown): boolean {
  const failure = failureOf(error)
  if (failure !== undefined) return unreachable.includes(failure.reason)
  if (!(error instanceof ConnectError)) return error instanceof TypeError && /fetch/.test(error.message)
  return [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Aborted, Code.Unknown, Code.Internal].includes(
    error.code,
  )
}
