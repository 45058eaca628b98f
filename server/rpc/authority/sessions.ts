import type { HandlerContext } from "@connectrpc/connect"
import { equalBytes } from "@signet/canonical/bytes"
import { type DeviceId, idBytes } from "@signet/kernel/ids"
import { serves } from "@signet/kernel/messaging/backend"
import type { ChangeSessionsRequest } from "@signet/proto/authority/v1/authority_service"
import { type DeviceListBodyV1, DeviceStatus } from "@signet/proto/credential/v1/device_list"
import { backendOf, notTheCallers } from "./backend.ts"
import { countUser } from "./counting.ts"
import type { AuthorityDeps } from "./deps.ts"
import { openList, ownerOf } from "./requester.ts"
import { idIn } from "./sign.ts"

const reason = "device_revoked"

/**
 * Binds and ends sessions as a signed device list states. The list was signed during a call of its user, or after the
 * user was removed, so a backend cannot end the sessions of others.
 */
export async function changeSessions(
  deps: AuthorityDeps,
  context: HandlerContext,
  request: ChangeSessionsRequest,
): Promise<void> {
  const owner = ownerOf(request.deviceList)
  const { userId: principalId, place } = owner
  if (!serves(await backendOf(deps, context), place)) throw notTheCallers("place")
  const list = openList(deps, owner, request.deviceList)
  await countUser(deps, context, principalId)
  const bind = request.bind && {
    sessionId: idIn("ses", request.bind.sessionId, "bind"),
    deviceId: idIn("dev", request.bind.deviceId, "bind"),
  }
  const revoked = request.revokedDeviceIds.map((id) => idIn("dev", id, "revoked_device_ids"))
  if (bind !== undefined && statusIn(list, bind.deviceId) !== DeviceStatus.ACTIVE) throw notTheCallers("bind")
  if (revoked.some((id) => statusIn(list, id) !== DeviceStatus.REVOKED)) throw notTheCallers("revoked_device_ids")
  const at = { principalId, ...place }
  await deps.store.transaction(async (tx) => {
    if (revoked.length > 0) {
      const except = bind?.sessionId ?? null
      await tx.endings.endByDevices({ ...at, deviceIds: revoked, except }, reason, deps.clock.nowMs())
    }
    if (bind !== undefined) await tx.sessions.bindDevice(bind.sessionId, bind.deviceId, at)
  })
}

function statusIn({ entries }: DeviceListBodyV1, id: DeviceId): DeviceStatus | undefined {
  const bytes = idBytes(id)
  return entries.find(({ deviceId }) => equalBytes(deviceId, bytes))?.status
}
