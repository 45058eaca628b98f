import { equalBytes, holds } from "@signet/canonical/bytes"
import { decode } from "@signet/canonical/canonical"
import {
  type DeviceList,
  maxListAheadSeconds,
  placeAfter,
  type SeenDeviceList,
  verifyDeviceList,
} from "@signet/canonical/device-list"
import { CanonicalError } from "@signet/canonical/errors"
import { hash } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import { type DeviceListBodyV1, DeviceListBodyV1Schema, DeviceStatus } from "@signet/proto/credential/v1/device_list"
import type { Device } from "@signet/proto/messaging/v1/records"
import { credentialBody } from "../checks/credential.ts"
import { withFreshKeys } from "../checks/with-fresh-keys.ts"
import type { Context } from "../context.ts"
import { hex } from "../crypto/bytes.ts"
import { type Ambient, nowSeconds, type Trust } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId, idOf } from "../ids.ts"
import { allPages } from "../sync/pages.ts"
import type { DeviceKey } from "./noticing.ts"

export const listDevices = ({ calls }: Pick<Context, "calls">, userId = ""): Promise<Device[]> =>
  allPages(async (pageToken) => {
    const { devices, nextPageToken } = await calls.devices.listDevices({ userId, pageToken })
    return { items: devices, nextPageToken }
  })

/** A user's active devices by the newest signed list. */
export interface ListedDevices {
  /** Undefined for a user who never had a device. */
  readonly head: SeenDeviceList | undefined
  readonly active: readonly DeviceKey[]
}

type Needs = Trust & Pick<Ambient, "clock"> & Pick<Context, "calls">

/**
 * Returns the user's active devices by the newest list. Each list after the seen one must name its predecessor, contain
 * its devices, and reactivate no revoked device. Without a seen list, the newest one is trusted on first use.
 *
 * @throws CanonicalError LIST_*, DEVICE_LIST_FORK
 * @throws MessagingError ANSWER_REFUSED if the devices contradict the list.
 */
export async function readDevices(
  context: Needs,
  userId: string,
  seen: SeenDeviceList | undefined,
): Promise<ListedDevices> {
  const list = await newestList(context, userId, seen)
  if (list === undefined) return { head: undefined, active: [] }
  const head = { version: list.body.listVersion, hash: list.hash }
  const entries = list.body.entries.filter(({ status }) => status === DeviceStatus.ACTIVE)
  const devices = entries.length === 0 ? [] : await listDevices(context, userId)
  const credentials = new Map(devices.map(({ credential }) => [hex(hash("device-credential", credential)), credential]))
  const active = entries.map(({ deviceId, credentialHash }) => {
    // The signed list contains the credential's hash, so its own signature is not verified.
    const credential = credentials.get(hex(credentialHash))
    if (credential === undefined)
      throw new MessagingError("ANSWER_REFUSED", "the service does not return a listed device")
    const body = credentialBody(credential)
    const isTheirs =
      equalBytes(body.deviceId, deviceId) &&
      equalBytes(body.userId, bytesOfId("prn", userId)) &&
      equalBytes(body.appId, context.owner.app) &&
      holds(body.tenantId, context.owner.tenant)
    if (!isTheirs) throw new MessagingError("ANSWER_REFUSED", "a listed device belongs to another user")
    return { userId, deviceId: idOf("dev", deviceId), key: body.leafSignatureKey }
  })
  return { head, active }
}

const pageSize = 20

async function newestList(
  context: Needs,
  userId: string,
  seen: SeenDeviceList | undefined,
): Promise<DeviceList | undefined> {
  const ask = (afterVersion: bigint, limit: number) =>
    context.calls.devices.listDeviceLists({ userId, afterVersion, limit })
  // Requests the seen version again, to detect a fork of that version.
  let after = (seen?.version ?? (await ask(0n, 1)).newestVersion) - 1n
  if (after < 0n) return undefined
  let head = seen
  let newest: DeviceList | undefined
  for (;;) {
    const page = await ask(after, pageSize)
    for (const signed of page.deviceLists) {
      const isSeen = head !== undefined && equalBytes(hash("device-list", signed), head.hash)
      const list = isSeen ? seenList(signed) : await verifiedList(context, userId, signed)
      if (placeAfter(head, list) === "gap") throw new CanonicalError("DEVICE_LIST_FORK")
      if (newest !== undefined) ensureContains(list.body, newest.body)
      newest = list
      head = { version: list.body.listVersion, hash: list.hash }
    }
    if (head === undefined || newest === undefined || page.newestVersion < head.version) {
      throw new CanonicalError("LIST_ROLLBACK")
    }
    if (head.version === page.newestVersion) return newest
    if (head.version <= after)
      throw new MessagingError("ANSWER_REFUSED", "the service states a newer device list and does not return it")
    after = head.version
  }
}

/** Decodes a list whose hash equals the stored one. It was verified before its hash was stored. */
function seenList(signed: Uint8Array): DeviceList {
  return { body: bodyOf(signed), hash: hash("device-list", signed) }
}

const bodyOf = (signed: Uint8Array): DeviceListBodyV1 =>
  decode(DeviceListBodyV1Schema, parseSigned(DeviceListBodyV1Schema, signed).body)

/** @throws CanonicalError LIST_* */
export async function verifiedList(context: Needs, userId: string, signed: Uint8Array): Promise<DeviceList> {
  const { issuer, owner, verify } = context
  const { issuedAt } = bodyOf(signed)
  if (issuedAt > BigInt(nowSeconds(context)) + maxListAheadSeconds) throw new CanonicalError("LIST_FROM_FUTURE")
  return withFreshKeys(context, () =>
    verifyDeviceList(signed, {
      issuerKeys: issuer.keys(),
      tenantId: owner.tenant,
      appId: owner.app,
      userId: bytesOfId("prn", userId),
      // A list stays valid after the expiry of the issuer key that signed it.
      atSeconds: issuedAt,
      verify,
    }),
  )
}

/** Checks that a list omits no device of its predecessor and reactivates no revoked one. @throws CanonicalError DEVICE_LIST_FORK */
function ensureContains(after: DeviceListBodyV1, before: DeviceListBodyV1): void {
  const now = new Map(after.entries.map(({ deviceId, status }) => [hex(deviceId), status]))
  for (const { deviceId, status } of before.entries) {
    const next = now.get(hex(deviceId))
    const isReactivated = status === DeviceStatus.REVOKED && next !== DeviceStatus.REVOKED
    if (next === undefined || isReactivated) throw new CanonicalError("DEVICE_LIST_FORK")
  }
}
