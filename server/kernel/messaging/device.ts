// Rules for registering, renewing and revoking devices, and for the chain of device lists.
import type { Reason } from "../errors.ts"
import type { AppId, DeviceId, PrincipalId, TenantId } from "../ids.ts"
import { equalBytes } from "./bytes.ts"
import { maxCount } from "./limits.ts"
import type { MessagingDevice, SignedDeviceList } from "./records.ts"

/** The caller, according to the session. */
interface Registrant {
  readonly userId: PrincipalId
  readonly appId: AppId
  readonly tenantId: TenantId | null
  /** The device that the session is bound to now. */
  readonly boundDeviceId: DeviceId | null
}

type RegisterDecision =
  /** Register a new device. In the same change, revoke the device that the session was bound to, if any. */
  | { readonly is: "register"; readonly revoke: DeviceId | null }
  /** The device exists: bind the session to it. */
  | { readonly is: "bind"; readonly device: MessagingDevice; readonly revoke: DeviceId | null }
  | { readonly is: "refuse"; readonly reason: Extract<Reason, "DEVICE_KEY_TAKEN" | "LIMIT_EXCEEDED"> }

/**
 * Decides a registration. The request was verified: its sender has the private key.
 *
 * @param keyHolder The device, of any user, that has or had this key.
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

/** Decides a renewal. A repeated request for the current key within an hour returns the same credential. */
export function decideRenew(
  device: MessagingDevice,
  leafKey: Uint8Array,
  keyHolder: MessagingDevice | undefined,
  nowMs: number,
): "renew" | "again" | Extract<Reason, "DEVICE_REVOKED" | "DEVICE_KEY_TAKEN"> {
  if (device.status === "REVOKED") return "DEVICE_REVOKED"
  if (keyHolder !== undefined && keyHolder.id !== device.id) return "DEVICE_KEY_TAKEN"
  const isCurrent = equalBytes(device.leafKey, leafKey)
  // A key that the device replaced cannot be used again.
  if (keyHolder !== undefined && !isCurrent) return "DEVICE_KEY_TAKEN"
  return isCurrent && nowMs - device.changedAtMs < 3_600_000 ? "again" : "renew"
}

/** The keys that verify the device's proofs now; none for a revoked device. */
export function proofKeys(device: MessagingDevice, nowMs: number): readonly Uint8Array[] {
  if (device.status === "REVOKED") return []
  const { previousKey } = device
  const previous = previousKey !== null && nowMs < previousKey.expiresAtMs ? [previousKey.leafKey] : []
  return [device.leafKey, ...previous]
}

/** Version and previous hash of the next list. */
export function nextList(newest: SignedDeviceList | undefined): { version: bigint; previousHash: Uint8Array | null } {
  return newest === undefined
    ? { version: 1n, previousHash: null }
    : { version: newest.version + 1n, previousHash: newest.hash }
}

/** The devices that a list names: all active ones, then the most recently revoked ones up to the list's limit. */
export function listEntries(devices: readonly MessagingDevice[]): readonly MessagingDevice[] {
  const active = devices.filter(({ status }) => status === "ACTIVE")
  const revoked = devices.filter(({ status }) => status === "REVOKED").toSorted((a, b) => b.changedAtMs - a.changedAtMs)
  return [...active, ...revoked.slice(0, maxCount.listEntries - active.length)]
}

function isOf(device: MessagingDevice, { userId, appId, tenantId }: Registrant): boolean {
  return device.userId === userId && device.appId === appId && device.tenantId === tenantId
}
