import type { HandlerContext } from "@connectrpc/connect"
import { idBytes, type PrincipalId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import { userOf } from "../../serving/call/call.ts"

/** The calling user, and the app and tenant of the token. */
export function callerAt(context: HandlerContext): { userId: PrincipalId; place: Place } {
  const { principal, appId, tenantId } = userOf(context)
  return { userId: principal.id, place: { appId, tenantId } }
}

/** A place in the form of signed messages: without a tenant, the field is absent. */
export const placeBytes = ({ appId, tenantId }: Place) => ({
  appId: idBytes(appId),
  tenantId: tenantId === null ? undefined : idBytes(tenantId),
})

export const unixSeconds = (ms: number): bigint => BigInt(Math.floor(ms / 1_000))
