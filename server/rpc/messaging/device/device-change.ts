// Changes of a user's devices: decided on the stored state, signed, and written unless another change came first.
import type { HandlerContext } from "@connectrpc/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { DeviceId, PrincipalId, SessionId } from "@signet/kernel/ids"
import { listEntries, nextList } from "@signet/kernel/messaging/device"
import type { MessagingDevice, Place, SignedDeviceList } from "@signet/kernel/messaging/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { userOf } from "../../../serving/call/call.ts"
import { auditEvent } from "../../audit/audit.ts"
import type { MessagingDeps } from "../deps.ts"

/** The user's devices at the place and the newest device list, from one snapshot. */
export interface Known {
  readonly devices: readonly MessagingDevice[]
  readonly newest: SignedDeviceList | undefined
}

/** The change of the known devices. */
export interface Change {
  /** An administrator who revokes devices of another user; by default the user, or nobody for a user who has left. */
  readonly by?: "administrator"
  readonly changed: readonly MessagingDevice[]
  readonly bind: { readonly sessionId: SessionId; readonly deviceId: DeviceId } | null
  readonly audit: readonly AuditEvent[]
}

type Deps = Pick<MessagingDeps, "store" | "authority" | "wakeups">

const tries = 5

/**
 * Repeats `once` until no concurrent write has preceded its own.
 *
 * @throws Refused UNAVAILABLE after too many attempts.
 */
export async function untilDone<T>(once: () => Promise<T | "lost">): Promise<T> {
  for (let i = 0; i < tries; i++) {
    const done = await once()
    if (done !== "lost") return done
  }
  throw new Refused("UNAVAILABLE")
}

/**
 * Signs the changed device list, and writes devices and list. Revocations have effects that are due then: see
 * revocation-effects.ts.
 */
export async function changeDevices(
  { store, authority, wakeups }: Deps,
  of: { userId: PrincipalId; place: Place },
  known: Known,
  { by, changed, bind, audit }: Change,
  nowMs: number,
): Promise<SignedDeviceList | "lost"> {
  const { userId, place } = of
  const ids = new Set(changed.map(({ id }) => id))
  const list = await authority.signDeviceList({
    place,
    userId,
    ...nextList(known.newest),
    entries: listEntries([...changed, ...known.devices.filter(({ id }) => !ids.has(id))]),
    issuedAtMs: nowMs,
    ...(by === "administrator" && known.newest !== undefined && { previous: known.newest.bytes }),
  })
  const revoked = changed.filter(({ status }) => status === "REVOKED").map(({ id }) => id)
  const written = await store.devices.change({ userId, place, devices: changed, list, bind, revoked, nowMs, audit })
  if (written === "lost") return "lost"
  const ended = revoked.map((deviceId): Hint => ({ is: "revoked", deviceId }))
  wakeups.publish([{ is: "deviceList", userId, version: list.version }, ...ended])
  return list
}

/** The device after its revocation. */
export const revokedDevice = (device: MessagingDevice, nowMs: number): MessagingDevice => ({
  ...device,
  status: "REVOKED",
  previousKey: null,
  changedAtMs: nowMs,
  revokedAtMs: nowMs,
})

/** The event of a change that the caller makes to a device. */
export function deviceEvent(
  deps: Pick<MessagingDeps, "random">,
  context: HandlerContext,
  nowMs: number,
  kind: "device.registered" | "device.bound" | "device.renewed" | "device.revoked",
  deviceId: DeviceId,
): AuditEvent {
  const { principal, identityId, appId, tenantId, sessionId } = userOf(context)
  return auditEvent(deps, context, nowMs, {
    kind,
    appId,
    tenantId,
    actorPrincipalId: principal.id,
    subjectPrincipalId: principal.id,
    subjectIdentityId: identityId,
    sessionId,
    target: { type: "device", id: deviceId },
  })
}
