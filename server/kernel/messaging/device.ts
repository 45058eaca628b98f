// Registering, renewing and revoking devices, and the chain of lists that says so.
import type { Reason } from "../errors.ts"
import type { AppId, DeviceId, PrincipalId, TenantId } from "../ids.ts"
import { equalBytes } from "./bytes.ts"
import { maxCount } from "./limits.ts"
import type { MessagingDevice, SignedDeviceList } from "./records.ts"

/** Who asks, as the session says it. */
export interface Registrant {
  readonly userId: PrincipalId
  readonly appId: AppId
  readonly tenantId: TenantId | null
  /** The device that the session is bound to by now. */
  readonly boundDeviceId: DeviceId | null
}

export type RegisterDecision =
  /** A new device. The session's former one, if it has one, is revoked in the same change. */
  | { readonly is: "register"; readonly revoke: DeviceId | null }
  /** The device is there: the session is bound to it. */
  | { readonly is: "bind"; readonly device: MessagingDevice; readonly revoke: DeviceId | null }
  | { readonly is: "refuse"; readonly reason: Extract<Reason, "DEVICE_KEY_TAKEN" | "LIMIT_EXCEEDED"> }

/**
 * What registering means. The request was verified: whoever made it holds the key.
 *
 * @param keyHolder The device that ever had this key, of any user.
 * @param devices All devices of the user.
 */
export function decideRegister(
  registrant: Registrant,
  keyHolder: MessagingDevice | undefined,
  devices: readonly MessagingDevice[],
): RegisterDecision {
  const active = devices.filter(({ status }) => status === "ACTIVE")
  const former = active.find(({ id }) => id === registrant.boundDeviceId)
  if (keyHolder !== undefined) {
    if (!isOf(keyHolder, registrant) || keyHolder.status !== "ACTIVE") {
      return { is: "refuse", reason: "DEVICE_KEY_TAKEN" }
    }
    const revoke = former === undefined || former.id === keyHolder.id ? null : former.id
    return { is: "bind", device: keyHolder, revoke }
  }
  const staying = active.length - (former === undefined ? 0 : 1)
  if (staying >= maxCount.devicesPerUser) return { is: "refuse", reason: "LIMIT_EXCEEDED" }
  return { is: "register", revoke: former?.id ?? null }
}

/** What renewing means. Asking again for the key that the newest credential is of, in its first hour, gives that again. */
export function decideRenew(
  device: MessagingDevice,
  leafKey: Uint8Array,
  keyHolder: MessagingDevice | undefined,
  nowMs: number,
): "renew" | "again" | Extract<Reason, "DEVICE_REVOKED" | "DEVICE_KEY_TAKEN"> {
  if (device.status === "REVOKED") return "DEVICE_REVOKED"
  if (keyHolder !== undefined && keyHolder.id !== device.id) return "DEVICE_KEY_TAKEN"
  const isCurrent = equalBytes(device.leafKey, leafKey)
  // A key that the device gave up does not come back.
  if (keyHolder !== undefined && !isCurrent) return "DEVICE_KEY_TAKEN"
  return isCurrent && nowMs - device.changedAtMs < 3_600_000 ? "again" : "renew"
}

/** The keys under which the device's proofs are taken now: none of a revoked one. */
export function proofKeys(device: MessagingDevice, nowMs: number): readonly Uint8Array[] {
  if (device.status === "REVOKED") return []
  const { previousKey } = device
  const previous = previousKey !== null && nowMs < previousKey.expiresAtMs ? [previousKey.leafKey] : []
  return [device.leafKey, ...previous]
}

/** Version and predecessor of the list after this one. */
export function nextList(newest: SignedDeviceList | undefined): { version: bigint; previousHash: Uint8Array | null } {
  return newest === undefined
    ? { version: 1n, previousHash: null }
    : { version: newest.version + 1n, previousHash: newest.hash }
}

/** The devices that a list names: all that are active, and of those revoked the newest, as many as it holds. */
export function listEntries(devices: readonly MessagingDevice[]): readonly MessagingDevice[] {
  const active = devices.filter(({ status }) => status === "ACTIVE")
  const revoked = devices.filter(({ status }) => status === "REVOKED").toSorted((a, b) => b.changedAtMs - a.changedAtMs)
  return [...active, ...revoked.slice(0, maxCount.listEntries - active.length)]
}

function isOf(device: MessagingDevice, { userId, appId, tenantId }: Registrant): boolean {
  return device.userId === userId && device.appId === appId && device.tenantId === tenantId
}
