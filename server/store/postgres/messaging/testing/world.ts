// Devices, key packages, conversations and appends with ids of their own, for tests of the store.
import { randomBytes } from "node:crypto"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { type DeviceId, idOf, newId, type PrincipalId } from "@signet/kernel/ids"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import type { ClaimTargets } from "@signet/kernel/messaging/membership"
import type { DeviceChange, MessagingStore } from "@signet/kernel/messaging/ports"
import type {
  Conversation,
  KeyPackageRecord,
  Leaf,
  MessagingDevice,
  SignedDeviceList,
} from "@signet/kernel/messaging/records"
import * as samples from "@signet/kernel/messaging/testing/records"
import type { VerifiedAppend, VerifiedCommit } from "@signet/kernel/messaging/verified"
import { freshId } from "../../testing/people.ts"

export const { nowMs, place } = samples

export const random = (length = 32): Uint8Array => new Uint8Array(randomBytes(length))
export const newDeviceId = (): DeviceId => idOf("dev", random(16))

/** A new event, so that the number of its rows shows whether it was appended. */
export const newAudit = (kind: AuditEvent["kind"] = "device.registered"): AuditEvent => ({
  id: freshId("aud"),
  occurredAtMs: nowMs,
  kind,
  outcome: "SUCCESS",
  reason: null,
  appId: place.appId,
  tenantId: null,
  contextId: null,
  actorPrincipalId: null,
  subjectPrincipalId: null,
  subjectIdentityId: null,
  sessionId: null,
  target: null,
  request: { id: "1", route: "/test", ipTruncated: null },
})

export function newDevice(userId: PrincipalId, change: Partial<MessagingDevice> = {}): MessagingDevice {
  return {
    ...samples.messagingDevice(1),
    id: newDeviceId(),
    userId,
    leafKey: random(),
    credential: random(228),
    credentialHash: random(),
    ...change,
  }
}

export const newList = (version: bigint): SignedDeviceList => ({ version, bytes: random(64), hash: random() })

export function changeOf(device: MessagingDevice, change: Partial<DeviceChange> = {}): DeviceChange {
  const { userId, appId, tenantId } = device
  return {
    userId,
    place: { appId, tenantId },
    devices: [device],
    list: newList(1n),
    bind: null,
    revoked: [],
    nowMs,
    audit: [],
    ...change,
  }
}

/** A new user with this many devices, registered one after the other. */
export async function putUser(store: MessagingStore, count = 1) {
  const userId = freshId("prn")
  const devices: MessagingDevice[] = []
  for (let i = 1; i <= count; i++) {
    const device = newDevice(userId, { createdAtMs: nowMs + i })
    if ((await store.devices.change(changeOf(device, { list: newList(BigInt(i)) }))) === "lost") throw new Error("lost")
    devices.push(device)
  }
  return { userId, devices }
}

export function newKeyPackage(device: MessagingDevice, change: Partial<KeyPackageRecord> = {}): KeyPackageRecord {
  return {
    ...samples.keyPackage(1),
    ref: random(),
    initKey: random(),
    deviceId: device.id,
    userId: device.userId,
    credentialHash: device.credentialHash,
    bytes: random(300),
    ...change,
  }
}

/** A claim of these targets by this device. */
export const newClaim = (
  { id, userId }: Pick<MessagingDevice, "id" | "userId">,
  targets: Partial<ClaimTargets>,
  change: Partial<Claiming> = {},
): Claiming => ({
  id: newId("clm", nowMs, random(10)),
  requester: { deviceId: id, userId },
  conversationId: newId("cnv", nowMs, random(10)),
  targets: { userIds: [], deviceIds: [], ...targets },
  addable: [],
  place,
  requestHash: random(),
  ...change,
})
type Claiming = Parameters<MessagingStore["keyPackages"]["claim"]>[0]

export function newConversation(userIds: readonly PrincipalId[], change: Partial<Conversation> = {}): Conversation {
  const id = newId("cnv", nowMs, random(10))
  const creatorUserId = userIds[0] ?? freshId("prn")
  return { ...samples.fresh, id, mlsGroupId: random(), creatorUserId, userIds, createdAtMs: nowMs, ...change }
}

export const creatorOf = (deviceId: DeviceId) => ({ deviceId, idempotencyKey: random(16), requestHash: random() })

/** A signer whose receipts contain their facts, so that tests can read them. */
export const signReceipt: ReceiptSigner = (facts) => {
  const text = JSON.stringify(facts, (_, value) => (typeof value === "bigint" ? String(value) : value))
  return { bytes: new TextEncoder().encode(text), hash: random() }
}

export function newMessage(
  { id, epoch }: Pick<Conversation, "id" | "epoch">,
  device: Pick<MessagingDevice, "id" | "userId">,
  change: Partial<VerifiedAppend> = {},
): VerifiedAppend {
  return {
    conversationId: id,
    deviceId: device.id,
    userId: device.userId,
    idempotencyKey: random(16),
    epoch,
    message: random(200),
    contentHash: random(),
    commit: null,
    ...change,
  }
}

export const leavesOf = (devices: readonly MessagingDevice[], joinedEpoch = 1n, first = 0): readonly Leaf[] =>
  devices.map(({ id, userId, credentialHash }, i) => ({
    leafIndex: first + i,
    deviceId: id,
    userId,
    credentialHash,
    joinedEpoch,
  }))

/** A commit that leads to this roster, with a tree, and a welcome for each new leaf except the committer's. */
export function newCommit(
  conversation: Conversation,
  device: Pick<MessagingDevice, "id" | "userId">,
  roster: readonly Leaf[],
  change: Partial<VerifiedCommit> = {},
): VerifiedAppend {
  const was = new Set(conversation.roster.map(({ deviceId }) => deviceId))
  const added = roster.filter((leaf) => !was.has(leaf.deviceId) && leaf.deviceId !== device.id)
  const tree = { bytes: random(1_000), hash: random() }
  const groupInfo = random(400)
  const commit: VerifiedCommit = {
    resetGroupId: null,
    renewsLeaf: false,
    membership: {
      op: conversation.epoch === 0n ? "CREATE" : "ADD",
      isDirected: false,
      proof: random(200),
      proofHash: random(),
    },
    roster,
    groupInfo: { bytes: random(500), hash: random() },
    tree,
    state: { stateTag: random(), groupContext: random(120), interimTranscriptHash: random(), treeHash: tree.hash },
    welcomes: added.map(({ deviceId }) => ({
      id: freshId("wel"),
      deviceId,
      keyPackageRef: random(),
      welcome: new Uint8Array(Buffer.concat([random(100), groupInfo])),
      expiresAtMs: nowMs + 1_000_000,
    })),
    ...change,
  }
  return newMessage(conversation, device, { message: random(600), commit })
}

/** A group of these devices in epoch 1, created and first committed by the first device. */
export async function putGroup(store: MessagingStore, devices: readonly MessagingDevice[]): Promise<Conversation> {
  const [creator] = devices
  if (creator === undefined) throw new Error("a group has a device")
  const conversation = newConversation([...new Set(devices.map(({ userId }) => userId))])
  await store.conversations.create(conversation, creatorOf(creator.id), newAudit("conversation.created"))
  const first = newCommit(conversation, creator, leavesOf(devices))
  const outcome = await store.conversations.append(first, signReceipt, nowMs, [])
  if (outcome.is !== "appended") throw new Error(outcome.is)
  return outcome.conversation
}
