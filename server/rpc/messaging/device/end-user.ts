// Revokes the devices and deletes the archives of a user who is deactivated, deleted, or removed from an app or tenant.
import type { AuditEvent } from "@signet/kernel/audit/event"
import { type DeviceId, newId, type PrincipalId } from "@signet/kernel/ids"
import { isArchiveGone } from "@signet/kernel/messaging/archive"
import type { Place } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../deps.ts"
import { changeDevices, revokedDevice, untilDone } from "./device-change.ts"

type Deps = Pick<MessagingDeps, "store" | "authority" | "wakeups" | "clock" | "random">

/**
 * Deletes the archives and revokes all devices that the user has at the place. The effects are due then: see revocation-effects.ts. Repeating it
 * is no error.
 *
 * @returns The devices that this call revoked.
 * @throws Refused UNAVAILABLE when the list cannot be signed, or concurrent changes prevent the write.
 */
export async function endDevicesOf(deps: Deps, userId: PrincipalId, place: Place): Promise<readonly DeviceId[]> {
  await deleteArchives(deps, userId, place)
  return untilDone(async () => {
    const nowMs = deps.clock.nowMs()
    const known = await deps.store.devices.ofUser(userId, place)
    const changed = known.devices.filter(({ status }) => status === "ACTIVE").map((one) => revokedDevice(one, nowMs))
    if (changed.length === 0) return []
    const audit = changed.map(({ id }) => event(deps, nowMs, userId, place, { type: "device", id }))
    const list = await changeDevices(deps, { userId, place }, known, { changed, bind: null, audit }, nowMs)
    return list === "lost" ? "lost" : changed.map(({ id }) => id)
  })
}

async function deleteArchives(deps: Deps, userId: PrincipalId, place: Place): Promise<void> {
  const nowMs = deps.clock.nowMs()
  const { archives } = deps.store
  for (const one of await archives.ofUser(userId, place)) {
    if (isArchiveGone(one, nowMs)) continue
    const change = { is: "delete", id: one.id, deviceId: one.createdBy } as const
    await archives.change(
      { userId, place, change },
      nowMs,
      event(deps, nowMs, userId, place, { type: "archive", id: one.id }),
    )
  }
}

/** The event of a change that the service itself makes. */
const event = (
  { random }: Pick<Deps, "random">,
  nowMs: number,
  userId: PrincipalId,
  { appId, tenantId }: Place,
  target: { readonly type: "device" | "archive"; readonly id: string },
): AuditEvent => ({
  id: newId("aud", nowMs, random.bytes(10)),
  occurredAtMs: nowMs,
  kind: target.type === "device" ? "device.revoked" : "archive.deleted",
  outcome: "SUCCESS",
  reason: null,
  appId,
  tenantId,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: userId,
  subjectIdentityId: null,
  sessionId: null,
  target,
  request: { id: "", route: "", ipTruncated: null },
})
