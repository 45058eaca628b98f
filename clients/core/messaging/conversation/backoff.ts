import { Code, ConnectError } from "@connectrpc/connect"
import { type FailureReason, failureOf } from "../../errors.ts"
import type { Clock, Random } from "../../ports.ts"

export const pause = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))

const firstDelayMs = 50
const longestDelayMs = 5_000
/** The longest wait that the service may ask for. A longer one is reported to the caller instead. */
export const longestAskedMs = 30_000

/** Doubles with each try, less a random part of up to one half: two clients that collided do not collide again. @param tries from 1. */
export function retryDelayMs(random: Random, tries: number): number {
  const full = Math.min(firstDelayMs * 2 ** tries, longestDelayMs)
  const [byte = 0] = random.bytes(1)
  return full * (1 - byte / 512)
}

/** PLACE_HELD: the tenant is moving to another backend, which will have all that this one had. */
const unreachable: readonly FailureReason[] = ["UNAVAILABLE", "UNREACHABLE", "PLACE_HELD"]

/** True if the outcome of a call is unknown: the same call is made again. */
export function isUnreachable(error: unknown): boolean {
  const failure = failureOf(error)
  if (failure !== undefined) return unreachable.includes(failure.reason)
  if (!(error instanceof ConnectError)) return error instanceof TypeError && /fetch/.test(error.message)
  return [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Aborted, Code.Unknown, Code.Internal].includes(
    error.code,
  )
}
