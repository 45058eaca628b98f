// Revokes the devices of a user who is deactivated, deleted, or removed from an app or tenant.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { type DeviceId, newId, type PrincipalId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../deps.ts"
import { changeDevices, revokedDevice, untilDone } from "./device-change.ts"

type Deps = Pick<MessagingDeps, "store" | "authority" | "wakeups" | "clock" | "random">

/**
 * Revokes all devices that the user has at the place. The effects are due then: see revocation-effects.ts. Repeating it
 * is no error.
 *
 * @returns The devices that this call revoked.
 * @throws Refused UNAVAILABLE when the list cannot be signed, or concurrent changes prevent the write.
 */
export function endDevicesOf(deps: Deps, userId: PrincipalId, place: Place): Promise<readonly DeviceId[]> {
  return untilDone(async () => {
    const nowMs = deps.clock.nowMs()
    const known = await deps.store.devices.ofUser(userId, place)
    const changed = known.devices.filter(({ status }) => status === "ACTIVE").map((one) => revokedDevice(one, nowMs))
    if (changed.length === 0) return []
    const audit = changed.map(({ id }) => event(deps, nowMs, userId, place, id))
    const list = await changeDevices(deps, { userId, place }, known, { changed, bind: null, audit }, nowMs)
    return list === "lost" ? "lost" : changed.map(({ id }) => id)
  })
}

/** The event of a change that the service itself makes. */
const event = (
  { random }: Pick<Deps, "random">,
  nowMs: number,
  userId: PrincipalId,
  { appId, tenantId }: Place,
  deviceId: DeviceId,
): AuditEvent => ({
  id: newId("aud", nowMs, random.bytes(10)),
  occurredAtMs: nowMs,
  kind: "device.revoked",
  outcome: "SUCCESS",
  reason: null,
  appId,
  tenantId,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: userId,
  subjectIdentityId: null,
  sessionId: null,
  target: { type: "device", id: deviceId },
  request: { id: "", route: "", ipTruncated: null },
})
