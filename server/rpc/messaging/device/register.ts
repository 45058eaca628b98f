import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type DeviceId, idOf } from "@signet/kernel/ids"
import { decideRegister, nextList } from "@signet/kernel/messaging/device"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { MessagingDevice, SignedDeviceList } from "@signet/kernel/messaging/records"
import { sessionIdOf } from "../../../serving/call/call.ts"
import { countingCredential } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { callerAt } from "../place.ts"
import { limitExceeded } from "../refusing.ts"
import { changeDevices, deviceEvent, revokedDevice, untilDone } from "./device-change.ts"
import { type DeviceRequest, issueDeviceCredential } from "./device-credential.ts"

export interface Registered {
  readonly device: MessagingDevice
  readonly list: SignedDeviceList
  /** The session's previous device, which is revoked. */
  readonly revoked: DeviceId | null
}

/**
 * Registers the device with the key of a verified request, and binds it to the caller's session.
 *
 * @throws Refused DEVICE_KEY_TAKEN, LIMIT_EXCEEDED, RATE_LIMITED, UNAVAILABLE
 */
export function register(deps: MessagingDeps, context: HandlerContext, request: DeviceRequest): Promise<Registered> {
  const count = countingCredential(deps, context, callerAt(context).userId)
  return untilDone(() => registerOnce(deps, context, request, count))
}

async function registerOnce(
  deps: MessagingDeps,
  context: HandlerContext,
  request: DeviceRequest,
  count: () => Promise<void>,
): Promise<Registered | "lost"> {
  const { store } = deps
  const { userId, place } = callerAt(context)
  const sessionId = sessionIdOf(context)
  const nowMs = deps.clock.nowMs()
  const known = await store.devices.ofUser(userId, place)
  // Read after the devices: a device that was bound meanwhile is in a newer list, so this write is rejected.
  const session = await deps.accounts.findSession(sessionId)
  const boundDeviceId = session?.boundDeviceId ?? null
  const keyHolder = await store.devices.findByKey(request.body.leafSignatureKey)
  const decision = decideRegister({ userId, ...place, boundDeviceId }, keyHolder, known.devices)
  if (decision.is === "refuse") {
    throw decision.reason === "LIMIT_EXCEEDED"
      ? limitExceeded("devices_per_user", maxCount.devicesPerUser)
      : new Refused(decision.reason)
  }
  const former = known.devices.find(({ id }) => id === decision.revoke)
  const event = (kind: Parameters<typeof deviceEvent>[3], id: DeviceId) => deviceEvent(deps, context, nowMs, kind, id)

  if (decision.is === "bind" && former === undefined) {
    const { device } = decision
    // The same device registered in another tab between the two reads.
    if (known.newest === undefined || !known.devices.some(({ id }) => id === device.id)) return "lost"
    if (boundDeviceId !== device.id)
      await store.devices.bindSession(sessionId, device.id, event("device.bound", device.id))
    return { device, list: known.newest, revoked: null }
  }

  const device =
    decision.is === "bind" ? decision.device : await newDevice(deps, { userId, place }, known.newest, request, nowMs)
  if (decision.is === "register") await count()
  const ended = former === undefined ? [] : [revokedDevice(former, nowMs)]
  const list = await changeDevices(
    deps,
    { userId, place },
    known,
    {
      changed: decision.is === "bind" ? ended : [device, ...ended],
      bind: { sessionId, deviceId: device.id },
      audit: [
        event(decision.is === "bind" ? "device.bound" : "device.registered", device.id),
        ...ended.map(({ id }) => event("device.revoked", id)),
      ],
    },
    nowMs,
  )
  return list === "lost" ? "lost" : { device, list, revoked: former?.id ?? null }
}

async function newDevice(
  deps: MessagingDeps,
  of: ReturnType<typeof callerAt>,
  newest: SignedDeviceList | undefined,
  request: DeviceRequest,
  nowMs: number,
): Promise<MessagingDevice> {
  const id = idOf("dev", deps.random.bytes(16))
  const serial = nextList(newest).version
  const issued = await issueDeviceCredential(deps, { ...of, deviceId: id, request, serial }, nowMs)
  return {
    ...of.place,
    ...issued,
    id,
    userId: of.userId,
    status: "ACTIVE",
    previousKey: null,
    createdAtMs: nowMs,
    changedAtMs: nowMs,
    revokedAtMs: null,
  }
}
