import type { AppId, DeviceId, PrincipalId, TenantId } from "@signet/kernel/ids"
import type { MessagingDevice, SignedDeviceList } from "@signet/kernel/messaging/records"
import { at, atOrNull, bytes, msOrNull } from "../sql.ts"
import { tenantOf } from "./access.ts"

export const deviceColumns = [
  "id",
  "user_id",
  "app_id",
  "tenant_id",
  "status",
  "leaf_key",
  "previous_leaf_key",
  "previous_expires_at",
  "credential",
  "credential_hash",
  "expires_at",
  "platform",
  "created_at",
  "changed_at",
  "revoked_at",
] as const

export interface DeviceRow {
  id: DeviceId
  user_id: PrincipalId
  app_id: AppId
  tenant_id: TenantId | ""
  status: MessagingDevice["status"]
  leaf_key: Uint8Array
  previous_leaf_key: Uint8Array | null
  previous_expires_at: Date | null
  credential: Uint8Array
  credential_hash: Uint8Array
  expires_at: Date
  platform: string
  created_at: Date
  changed_at: Date
  revoked_at: Date | null
}

export const deviceOf = (row: DeviceRow): MessagingDevice => ({
  id: row.id,
  userId: row.user_id,
  appId: row.app_id,
  tenantId: tenantOf(row.tenant_id),
  status: row.status,
  leafKey: bytes(row.leaf_key),
  previousKey:
    row.previous_leaf_key === null || row.previous_expires_at === null
      ? null
      : { leafKey: bytes(row.previous_leaf_key), expiresAtMs: row.previous_expires_at.getTime() },
  credential: bytes(row.credential),
  credentialHash: bytes(row.credential_hash),
  expiresAtMs: row.expires_at.getTime(),
  platform: row.platform,
  createdAtMs: row.created_at.getTime(),
  changedAtMs: row.changed_at.getTime(),
  revokedAtMs: msOrNull(row.revoked_at),
})

/** In the order of `deviceColumns`. */
export const deviceValues = (device: MessagingDevice): readonly unknown[] => [
  device.id,
  device.userId,
  device.appId,
  device.tenantId ?? "",
  device.status,
  device.leafKey,
  device.previousKey?.leafKey ?? null,
  atOrNull(device.previousKey?.expiresAtMs ?? null),
  device.credential,
  device.credentialHash,
  at(device.expiresAtMs),
  device.platform,
  at(device.createdAtMs),
  at(device.changedAtMs),
  atOrNull(device.revokedAtMs),
]

export interface ListRow {
  version: number
  signed: Uint8Array
  hash: Uint8Array
}

export const listOf = ({ version, signed, hash }: ListRow): SignedDeviceList => ({
  version: BigInt(version),
  bytes: bytes(signed),
  hash: bytes(hash),
})
