import type { HandlerContext } from "@connectrpc/connect"
import type { PrincipalId } from "@signet/kernel/ids"
import type { Route } from "@signet/kernel/limits/policy"
import { deviceOf } from "../../serving/call/calling-device.ts"
import { limit, type Subjects } from "../limit.ts"
import type { MessagingDeps } from "./deps.ts"

/**
 * As `limit`, for the messaging services.
 *
 * @throws Refused RATE_LIMITED with `retry_after` (whole seconds); UNAVAILABLE when the limits cannot be counted.
 */
export function counted<R extends Route>(
  { limiter, limits, clock, secrets }: Pick<MessagingDeps, "limiter" | "limits" | "clock" | "secrets">,
  context: HandlerContext,
  route: R,
  subjects: Subjects<R>,
): Promise<void> {
  return limit({ limiter, clock, secrets, store: { limits } }, context, route, subjects)
}

/**
 * Counts a new credential, at most once per call. A repeated call for the same credential writes none and is not
 * counted.
 */
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

/**
 * Counts a device's change of members or reading position, which costs other members time. @throws Refused RATE_LIMITED
 */
export const countChange = (deps: Parameters<typeof counted>[0], context: HandlerContext): Promise<void> =>
  counted(deps, context, "messaging_change", { device: deviceOf(context).id })
