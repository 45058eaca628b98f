import type { ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type PrincipalId, parseId } from "@signet/kernel/ids"
import type { Place } from "@signet/kernel/messaging/records"
import type { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { sessionIdOf, userOf } from "../../../serving/call/call.ts"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { counted } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { usersAt } from "../people.ts"
import { callerAt } from "../place.ts"
import { changeDevices, deviceEvent, revokedDevice, untilDone } from "./device-change.ts"
import { openDeviceRequest } from "./device-credential.ts"
import { devicesFound } from "./device-page.ts"
import { deviceShape } from "./device-shape.ts"
import { register } from "./register.ts"
import { renew } from "./renew.ts"
import { carryOutNow } from "./revocation-effects.ts"
import { userDevices } from "./user-devices.ts"

const defaultLists = 10

export function deviceService(deps: MessagingDeps): ServiceImpl<typeof DeviceService> {
  return {
    async registerDevice(request, context) {
      // A device is bound to a session, and a personal access token has none.
      sessionIdOf(context)
      const of = callerAt(context)
      await counted(deps, context, "messaging_register", { ask: of.userId })
      const asked = openDeviceRequest(deps, of, request.deviceRequest)
      const { device, list, revoked } = await register(deps, context, asked)
      if (revoked !== null) await carryOutNow(deps, of.userId, [revoked])
      return {
        device: deviceShape(device, of.userId),
        deviceList: list.bytes,
        mustRefresh: userOf(context).deviceId !== device.id,
      }
    },

    async renewCredential(request, context) {
      const { id } = deviceOf(context)
      // Another's device is answered as a missing one.
      if (request.deviceId !== id) throw new Refused("RESOURCE_UNRESOLVED")
      const of = callerAt(context)
      await counted(deps, context, "messaging_register", { ask: of.userId })
      const asked = openDeviceRequest(deps, of, request.deviceRequest)
      const { device, list } = await renew(deps, context, id, asked)
      return { device: deviceShape(device, of.userId), deviceList: list.bytes }
    },

    async revokeDevice(request, context) {
      sessionIdOf(context)
      const of = callerAt(context)
      const id = parseId("dev", request.deviceId)
      const nowMs = deps.clock.nowMs()
      const list = await untilDone(async () => {
        const known = await deps.store.devices.ofUser(of.userId, of.place)
        const device = known.devices.find((one) => one.id === id)
        if (device === undefined || known.newest === undefined) throw new Refused("NOT_FOUND")
        if (device.status === "REVOKED") return known.newest
        const audit = [deviceEvent(deps, context, nowMs, "device.revoked", device.id)]
        const changed = [revokedDevice(device, nowMs)]
        return changeDevices(deps, of, known, { changed, bind: null, audit }, nowMs)
      })
      if (id !== undefined) await carryOutNow(deps, of.userId, [id])
      return { deviceList: list.bytes }
    },

    async listDevices(request, context) {
      const { userId: callerId, place } = callerAt(context)
      const userId = await whoseDevices(deps, callerId, place, request.userId)
      const filter = ["devices", userId, place.appId, place.tenantId ?? ""]
      const { devices } = await deps.store.devices.ofUser(userId, place)
      const { page, nextPageToken } = devicesFound(deps, filter, request, devices)
      return { devices: page.map((device) => deviceShape(device, callerId)), nextPageToken }
    },

    ...userDevices(deps),

    async listDeviceLists(request, context) {
      const { userId: callerId, place } = callerAt(context)
      const userId = await whoseDevices(deps, callerId, place, request.userId)
      const { devices } = deps.store
      const lists = await devices.lists(userId, place, request.afterVersion, request.limit || defaultLists)
      // Read after the lists: a client that has all of them asks again when the newest version is higher.
      const { newest } = await devices.ofUser(userId, place)
      return { deviceLists: lists.map(({ bytes }) => bytes), newestVersion: newest?.version ?? 0n }
    },

    async getIssuerKeys() {
      const issuerKeySet = deps.authority.issuerKeySet()
      if (issuerKeySet === undefined) throw new Refused("UNAVAILABLE", { message: "no key set is configured" })
      return { issuerKeySet }
    },
  }
}

/** @throws Refused RESOURCE_UNRESOLVED for a user elsewhere. */
async function whoseDevices(
  deps: MessagingDeps,
  callerId: PrincipalId,
  place: Place,
  asked: string,
): Promise<PrincipalId> {
  // The guard has checked that the caller is active at the place.
  if (asked === "" || asked === callerId) return callerId
  const [userId] = await usersAt(deps, place, [asked])
  if (userId === undefined) throw new Refused("RESOURCE_UNRESOLVED")
  return userId
}
