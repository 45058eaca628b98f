import type { DeviceId, PrincipalId } from "@signet/kernel/ids"
import { type Inventory, inventoryOf } from "@signet/kernel/messaging/key-package"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { KeyPackageRecord } from "@signet/kernel/messaging/records"
import { at, bytes } from "../sql.ts"

export const keyPackageColumns = [
  "ref",
  "init_key",
  "device_id",
  "user_id",
  "credential_hash",
  "package",
  "is_last_resort",
  "not_before",
  "not_after",
  "status",
] as const

export interface KeyPackageRow {
  ref: Uint8Array
  init_key: Uint8Array
  device_id: DeviceId
  user_id: PrincipalId
  credential_hash: Uint8Array
  package: Uint8Array
  is_last_resort: boolean
  not_before: Date
  not_after: Date
  status: KeyPackageRecord["status"]
}

export const keyPackageOf = (row: KeyPackageRow): KeyPackageRecord => ({
  ref: bytes(row.ref),
  initKey: bytes(row.init_key),
  deviceId: row.device_id,
  userId: row.user_id,
  credentialHash: bytes(row.credential_hash),
  bytes: bytes(row.package),
  isLastResort: row.is_last_resort,
  notBeforeMs: row.not_before.getTime(),
  notAfterMs: row.not_after.getTime(),
  status: row.status,
})

/**
 * The bounds of `isClaimable` in kernel/messaging/key-package.ts: not_before is at most the first, not_after is later
 * than the second.
 */
export const claimableAt = (nowMs: number): readonly [Date, Date] => [
  at(nowMs),
  at(nowMs + lifetimeMs.keyPackageReserve),
]

/** SQL that counts a device's claimable packages. `from` and `until` are the bounds of `claimableAt`. */
export const countText = (device: string, from: string, until: string): string =>
  `select count(*) filter (where not is_last_resort) as available,
    count(*) filter (where is_last_resort) as last_resorts
  from key_package
  where device_id = ${device} and status = 'AVAILABLE' and not_before <= ${from} and not_after > ${until}`

/** `countText` with the device and the bounds as parameters. */
export const inventoryText = countText("$1", "$2", "$3")

export interface CountRow {
  available: number
  last_resorts: number
}

export const inventoryOfRow = (row: CountRow | undefined): Inventory =>
  inventoryOf({ available: row?.available ?? 0, hasLastResort: (row?.last_resorts ?? 0) > 0 })
