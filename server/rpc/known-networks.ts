// Networks that an email has signed in from. What strangers do with the email elsewhere does not hold its owner up there.
import type { HandlerContext } from "@connectrpc/connect"
import type { Deps } from "./deps.ts"
import { networkOf } from "./limit.ts"

const keepSeconds = 30 * 86_400

/** @param subject A keyed hash of the email. */
const keyOf = (deps: Deps, context: HandlerContext, subject: string): Uint8Array =>
  deps.secrets.hash("rate-limit", JSON.stringify(["known-network", subject, networkOf(context)]))

/** Kept as the counts are, beside which it stands: it lasts like a lock. */
export async function rememberNetwork(deps: Deps, context: HandlerContext, subject: string): Promise<void> {
  if (deps.limiter === null) return
  const policy = { failures: 1, seconds: 1, lockSeconds: keepSeconds, mostLockSeconds: keepSeconds }
  await deps.store.limits.fail(keyOf(deps, context, subject), policy, deps.clock.nowMs())
}

export async function isKnownNetwork(deps: Deps, context: HandlerContext, subject: string): Promise<boolean> {
  const key = keyOf(deps, context, subject)
  return (await deps.store.limits.take([], [key], deps.clock.nowMs())).lockedUntilMs !== null
}
