// Maps devices, key packages and welcomes to contract messages.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { toHex } from "@signet/canonical/bytes"
import type { PrincipalId } from "@signet/kernel/ids"
import type * as pool from "@signet/kernel/messaging/key-package"
import type * as kernel from "@signet/kernel/messaging/records"
import {
  type ClaimedKeyPackageSchema,
  type ClaimSchema,
  ConversationKind,
  Device_Status,
  type DeviceSchema,
  type InventorySchema,
  Welcome_Status,
  type WelcomeSchema,
} from "@signet/proto/messaging/v1/records"

/** @param readerId Only the device's own user sees its platform. */
export const deviceShape = (
  of: kernel.MessagingDevice,
  readerId: PrincipalId,
): MessageInitShape<typeof DeviceSchema> => ({
  id: of.id,
  userId: of.userId,
  status: Device_Status[of.status],
  credential: of.credential,
  credentialHash: of.credentialHash,
  platform: of.userId === readerId ? of.platform : "",
  createdAt: timestampFromMs(of.createdAtMs),
  expiresAt: timestampFromMs(of.expiresAtMs),
  ...(of.revokedAtMs === null ? {} : { revokedAt: timestampFromMs(of.revokedAtMs) }),
})

export const inventoryShape = (of: pool.Inventory): MessageInitShape<typeof InventorySchema> => ({
  available: of.available,
  hasLastResort: of.hasLastResort,
  lowWater: of.lowWater,
  isLow: of.isLow,
})

export const claimShape = (of: kernel.ClaimRecord, ticket: Uint8Array): MessageInitShape<typeof ClaimSchema> => ({
  id: of.id,
  ticket,
  keyPackages: of.packages.map(claimedShape),
  deviceIdsWithout: [...of.withoutDeviceIds],
})

const claimedShape = (of: kernel.KeyPackageRecord): MessageInitShape<typeof ClaimedKeyPackageSchema> => ({
  deviceId: of.deviceId,
  userId: of.userId,
  keyPackage: of.bytes,
  keyPackageRef: of.ref,
  isLastResort: of.isLastResort,
})

export const welcomeShape = (of: kernel.WelcomeRecord): MessageInitShape<typeof WelcomeSchema> => ({
  id: of.id,
  conversationId: of.conversationId,
  mlsGroupId: of.mlsGroupId,
  conversationKind: ConversationKind[of.conversationKind],
  epoch: of.epoch,
  commitSeq: of.commitSeq,
  keyPackageRef: of.keyPackageRef,
  welcome: of.welcome,
  treeHash: toHex(of.treeHash),
  receipt: of.receipt,
  proof: of.proof,
  adderDeviceId: of.adderDeviceId,
  // The service returns no void welcome.
  status: of.status === "CONSUMED" ? Welcome_Status.CONSUMED : Welcome_Status.PENDING,
  createdAt: timestampFromMs(of.createdAtMs),
  expiresAt: timestampFromMs(of.expiresAtMs),
})
