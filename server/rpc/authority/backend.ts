import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import { type Backend, serves } from "@signet/kernel/messaging/backend"
import type { Place } from "@signet/kernel/messaging/records"
import type { BackendPlace } from "@signet/proto/authority/v1/authority_service"
import { callerOf } from "../../serving/call/call.ts"
import type { AuthorityDeps } from "./deps.ts"

/** The calling backend. */
export async function backendOf({ store }: Pick<AuthorityDeps, "store">, context: HandlerContext): Promise<Backend> {
  const { appId, tenantId } = callerOf(context)
  const app = await store.apps.find(appId)
  return { appId, tenantId, isInstallation: app?.isInstallation === true }
}

/** @throws Refused NOT_THE_CALLERS for a place that the backend does not serve. */
export async function servedPlace(
  deps: Pick<AuthorityDeps, "store">,
  context: HandlerContext,
  asked: BackendPlace | undefined,
): Promise<Place> {
  const place = placeOf(asked)
  if (!serves(await backendOf(deps, context), place)) throw notTheCallers("place")
  return place
}

/** @throws Refused INVALID_FIELD */
function placeOf(asked: BackendPlace | undefined): Place {
  const appId = parseId("app", asked?.appId ?? "")
  const tenantId = asked?.tenantId ? parseId("ten", asked.tenantId) : null
  if (appId === undefined || tenantId === undefined) throw invalid("place")
  return { appId, tenantId }
}

export const invalid = (field: string): Refused => new Refused("INVALID_FIELD", { metadata: { field } })

/** @param field The request field that names another caller's data. */
export const notTheCallers = (field: string): Refused => new Refused("NOT_THE_CALLERS", { metadata: { field } })
