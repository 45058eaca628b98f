import type { HandlerContext } from "@connectrpc/connect"
import { equalBytes } from "@signet/canonical/bytes"
import { Refused } from "@signet/kernel/errors"
import type { DeviceId } from "@signet/kernel/ids"
import { decideRenew, nextList } from "@signet/kernel/messaging/device"
import type { MessagingDevice, SignedDeviceList } from "@signet/kernel/messaging/records"
import { countingCredential } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { callerAt } from "../place.ts"
import { changeDevices, deviceEvent, untilDone } from "./device-change.ts"
import { type DeviceRequest, issueDeviceCredential } from "./device-credential.ts"

/**
 * Issues a new credential to the device, for the key of a verified request.
 *
 * @throws Refused DEVICE_REVOKED, DEVICE_KEY_TAKEN, RATE_LIMITED, UNAVAILABLE
 */
export function renew(
  deps: MessagingDeps,
  context: HandlerContext,
  deviceId: DeviceId,
  request: DeviceRequest,
): Promise<{ device: MessagingDevice; list: SignedDeviceList }> {
  const count = countingCredential(deps, context, callerAt(context).userId)
  return untilDone(async () => {
    const of = callerAt(context)
    const nowMs = deps.clock.nowMs()
    const known = await deps.store.devices.ofUser(of.userId, of.place)
    const device = known.devices.find(({ id }) => id === deviceId)
    if (device === undefined || known.newest === undefined) throw new Refused("RESOURCE_UNRESOLVED")
    const leafKey = request.body.leafSignatureKey
    const decision = decideRenew(device, leafKey, await deps.store.devices.findByKey(leafKey), nowMs)
    if (decision === "again") return { device, list: known.newest }
    if (decision !== "renew") throw new Refused(decision)

    const serial = nextList(known.newest).version
    const isSameKey = equalBytes(device.leafKey, leafKey)
    const renewed: MessagingDevice = {
      ...device,
      ...(await issueDeviceCredential(deps, { ...of, deviceId, request, serial }, nowMs)),
      previousKey: isSameKey ? device.previousKey : { leafKey: device.leafKey, expiresAtMs: device.expiresAtMs },
      changedAtMs: nowMs,
    }
    await count()
    const audit = [deviceEvent(deps, context, nowMs, "device.renewed", deviceId)]
    const list = await changeDevices(deps, of, known, { changed: [renewed], bind: null, audit }, nowMs)
    return list === "lost" ? "lost" : { device: renewed, list }
  })
}
