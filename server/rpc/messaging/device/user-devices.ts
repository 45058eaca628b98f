// Devices of other people, for administrators. An administrator reaches the devices of the app or tenant of the token.
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { reachMismatch } from "@signet/kernel/authz/admin-reach"
import { Refused } from "@signet/kernel/errors"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import type { MessagingDevice, Place } from "@signet/kernel/messaging/records"
import type { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { sessionIdOf, userOf } from "../../../serving/call/call.ts"
import { auditEvent } from "../../audit/audit.ts"
import { audited } from "../../audit/refusals.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { usersAt } from "../people.ts"
import { changeDevices, type Known, revokedDevice, untilDone } from "./device-change.ts"
import { devicesFound } from "./device-page.ts"
import { deviceShape } from "./device-shape.ts"
import { carryOutNow } from "./revocation-effects.ts"

type Methods = "listUserDevices" | "revokeUserDevices"

export function userDevices(deps: MessagingDeps): Pick<ServiceImpl<typeof DeviceService>, Methods> {
  return {
    async listUserDevices(request, context) {
      const of = administered(context, request)
      const { devices } = await knownOf(deps, of)
      const filter = ["user-devices", of.userId, of.place.appId, of.place.tenantId ?? ""]
      const { page, nextPageToken } = devicesFound(deps, filter, request, devices)
      return { devices: page.map((device) => deviceShape(device, device.userId)), nextPageToken }
    },

    async revokeUserDevices(request, context) {
      sessionIdOf(context)
      const of = administered(context, request)
      await counted(deps, context, "admin_write", { caller: userOf(context).principal.id })
      const nowMs = deps.clock.nowMs()
      const revoked = await untilDone(async () => {
        const known = await knownOf(deps, of)
        const chosen = chosenOf(known.devices, request.deviceIds)
        const changed = chosen.filter(({ status }) => status === "ACTIVE").map((one) => revokedDevice(one, nowMs))
        if (changed.length === 0) return []
        const audit = changed.map(({ id }) => revocationBy(deps, context, nowMs, of, id))
        const change = { by: "administrator", changed, bind: null, audit } as const
        const list = await changeDevices(deps, of, known, change, nowMs)
        return list === "lost" ? "lost" : changed.map(({ id }) => id)
      })
      await carryOutNow(deps, of.userId, revoked)
      return { revokedDevices: revoked.length }
    },
  }
}

interface Owner {
  readonly userId: PrincipalId
  readonly place: Place
}

/**
 * The user and the place that an administrator names. The tenant defaults to the caller's own.
 *
 * @throws Refused RESOURCE_UNRESOLVED for a place that the caller does not administer.
 */
function administered(context: HandlerContext, request: { userId: string; tenantId: string }): Owner {
  const caller = userOf(context)
  const userId = parseId("prn", request.userId)
  const tenantId = request.tenantId === "" ? caller.tenantId : parseId("ten", request.tenantId)
  if (userId === undefined || tenantId === undefined) throw unresolved()
  const place = { appId: caller.appId, tenantId }
  // Devices belong to no context, so a token of a context administers none.
  const mismatch = reachMismatch(caller, false, { ...place, contextId: null })
  if (mismatch !== undefined) throw unresolved(mismatch)
  return { userId, place }
}

/** @throws Refused RESOURCE_UNRESOLVED, alike for an unknown user and one elsewhere. */
async function knownOf(deps: MessagingDeps, { userId, place }: Owner): Promise<Known> {
  const known = await deps.store.devices.ofUser(userId, place)
  // A suspended member is not active, and the devices remain.
  if (known.devices.length === 0) {
    await usersAt(deps, place, [userId]).catch((error: unknown) => {
      throw error instanceof Refused && error.reason === "RESOURCE_UNRESOLVED" ? unresolved() : error
    })
  }
  return known
}

/** The named devices, or all. @throws Refused NOT_FOUND */
function chosenOf(devices: readonly MessagingDevice[], ids: readonly string[]): readonly MessagingDevice[] {
  if (ids.length === 0) return devices
  const chosen = devices.filter(({ id }) => ids.includes(id))
  if (chosen.length !== new Set(ids).size) throw new Refused("NOT_FOUND")
  return chosen
}

const unresolved = (reason: "RESOURCE_UNRESOLVED" | ReturnType<typeof reachMismatch> = "RESOURCE_UNRESOLVED") =>
  audited(new Refused("RESOURCE_UNRESOLVED", { cause: reason }), {
    kind: "authz.denied",
    outcome: "DENIED",
    reason: reason ?? "RESOURCE_UNRESOLVED",
  })

/** The event names the devices' place, so that the administrators there find it. */
function revocationBy(
  deps: Pick<MessagingDeps, "random">,
  context: HandlerContext,
  nowMs: number,
  { userId, place }: Owner,
  deviceId: MessagingDevice["id"],
): AuditEvent {
  const { principal, sessionId } = userOf(context)
  return auditEvent(deps, context, nowMs, {
    kind: "device.revoked",
    appId: place.appId,
    tenantId: place.tenantId,
    actorPrincipalId: principal.id,
    subjectPrincipalId: userId,
    sessionId,
    target: { type: "device", id: deviceId },
  })
}
