import type { HandlerContext } from "@connectrpc/connect"
import type { PrincipalId } from "@signet/kernel/ids"
import type { Route } from "@signet/kernel/limits/policy"
import { deviceOf } from "../../serving/call/calling-device.ts"
import { limit, type Subjects } from "../limit.ts"
import type { MessagingDeps } from "./deps.ts"

/**
 * Counts a call against windows of its route, as `limit` does.
 *
 * @throws Refused RATE_LIMITED with `retry_after` (whole seconds). UNAVAILABLE when nobody can count.
 */
export function counted<R extends Route>(
  { limiter, limits, clock, secrets }: Pick<MessagingDeps, "limiter" | "limits" | "clock" | "secrets">,
  context: HandlerContext,
  route: R,
  subjects: Subjects<R>,
): Promise<void> {
  return limit({ limiter, clock, secrets, store: { limits } }, context, route, subjects)
}

/** Counts a credential that is about to be written, once a call: asking again for one that was made is none. */
export function countingCredential(
  deps: Parameters<typeof counted>[0],
  context: HandlerContext,
  userId: PrincipalId,
): () => Promise<void> {
  let counting: Promise<void> | undefined
  return () => {
    counting ??= counted(deps, context, "messaging_register", { user: userId })
    return counting
  }
}

/** Counts what a device asks for about members and places, which others wait for. @throws Refused RATE_LIMITED */
export const countChange = (deps: Parameters<typeof counted>[0], context: HandlerContext): Promise<void> =>
  counted(deps, context, "messaging_change", { device: deviceOf(context).id })
