// A place with every kind of stored record, for tests of moving it.
import { sha256 } from "@noble/hashes/sha2.js"
import { idOf, newId, type TenantId } from "@signet/kernel/ids"
import { type Archive, type ArchiveChange, nameOfChunk } from "@signet/kernel/messaging/archive"
import { hex } from "@signet/kernel/messaging/bytes"
import { decideRevocation } from "@signet/kernel/messaging/directive"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord, ForkReport, MessagingDevice, Place } from "@signet/kernel/messaging/records"
import * as samples from "@signet/kernel/messaging/testing/records"
import {
  changeOf,
  creatorOf,
  leavesOf,
  newAudit,
  newClaim,
  newCommit,
  newConversation,
  newDevice,
  newKeyPackage,
  newList,
  newMessage,
  random,
  signReceipt,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"

const { nowMs } = samples
export const tenantAt = (tenantId: TenantId | null): Place => ({ ...samples.place, tenantId })

export type FullPlace = Awaited<ReturnType<typeof fillPlace>>

async function putDevice(store: MessagingStore, place: Place, version: bigint, of: Partial<MessagingDevice> = {}) {
  const device = newDevice(of.userId ?? freshId("prn"), { ...place, ...of })
  const change = changeOf(device, { list: newList(version) })
  if ((await store.devices.change(change)) === "lost") throw new Error("lost")
  return device
}

const attachmentOf = (
  conversationId: AttachmentRecord["conversationId"],
  owner: MessagingDevice,
): AttachmentRecord => ({
  id: idOf("att", random(16)),
  conversationId,
  ownerDeviceId: owner.id,
  ownerUserId: owner.userId,
  status: "UPLOADING",
  size: 5,
  sha256: random(),
  partSize: 3,
  parts: [],
  idempotencyKey: random(16),
  createdAtMs: nowMs,
  expiresAtMs: nowMs + 10_000_000_000,
})

/** A complete backup of the device's user, and a transfer that nobody grants. */
async function putBackup(
  store: MessagingStore,
  { id: deviceId, userId, appId, tenantId }: MessagingDevice,
  chunks: readonly Uint8Array[],
): Promise<Archive> {
  const header = hex(random(8))
  const change = async (id: string, of: object) => {
    const changed = { id, deviceId, ...of } as ArchiveChange
    const done = await store.archives.change({ userId, place: { appId, tenantId }, change: changed }, nowMs, null)
    if (done.is !== "change") throw new Error(done.is)
    return done.archive
  }
  await change(hex(random(16)), { is: "create", kind: "TRANSFER", header })
  const id = hex(random(16))
  await change(id, { is: "create", kind: "BACKUP", header })
  for (const [index, data] of chunks.entries()) {
    await change(id, { is: "append", index, name: nameOfChunk(sha256(data)), size: data.length })
  }
  return change(id, { is: "complete" })
}

/**
 * Creates three devices of two users, one of them revoked; a group with every kind of record; and a direct conversation
 * without a commit.
 */
export async function fillPlace(store: MessagingStore, place: Place) {
  const ana = await putDevice(store, place, 1n)
  const bea = await putDevice(store, place, 1n)
  const old = await putDevice(store, place, 2n, { userId: bea.userId })
  const packages = [ana, bea, old].map((device) => [newKeyPackage(device), newKeyPackage(device)] as const)
  for (const pair of packages) await store.keyPackages.upload(pair, nowMs)
  const last = newKeyPackage(bea, { isLastResort: true })
  await store.keyPackages.upload([last], nowMs)
  await store.keyPackages.retire(ana.id, [packages[0]?.[0].ref ?? random()])

  const made = newConversation([ana.userId, bea.userId], place)
  await store.conversations.create(made, creatorOf(ana.id), newAudit("conversation.created"))
  const claimId = newId("clm", nowMs, random(10))
  const claim = newClaim(ana, { userIds: [bea.userId] }, { id: claimId, conversationId: made.id, place })
  const blocked = { userId: freshId("prn"), isBlocked: true }
  await store.blocks.change({ userId: bea.userId, place, change: blocked }, newAudit("user.blocked"))
  await store.keyPackages.claim(claim, nowMs, newAudit("key_package.claimed"))
  const first = newCommit(made, ana, leavesOf([ana, bea, old]))
  const begun = await store.conversations.append(first, signReceipt, nowMs, [])
  if (begun.is !== "appended") throw new Error(begun.is)
  let group = begun.conversation
  const toBea = await store.welcomes.findPending(bea.id, group.id)
  if (toBea === undefined) throw new Error("no welcome")
  await store.welcomes.consume(toBea.id, { deviceId: bea.id, key: random(16) }, nowMs, newAudit("welcome.consumed"))
  const said = newMessage(group, ana)
  await store.conversations.append(said, signReceipt, nowMs + 1, [])
  // A second tree, and a renewed leaf.
  const { conversation } = (await store.conversations.findSeen(group.id, ana.id)) ?? { conversation: group }
  const renewed = leavesOf([{ ...ana, credentialHash: random() }, bea, old])
  const second = await store.conversations.append(
    newCommit(conversation, ana, renewed, { membership: null }),
    signReceipt,
    nowMs + 2,
    [],
  )
  if (second.is !== "appended") throw new Error(second.is)
  group = second.conversation
  await store.conversations.ack(group.id, bea.id, { processedSeq: 2n, processedEpoch: 1n })
  await store.conversations.touch(group.id, ana.id, nowMs)

  const whole = attachmentOf(group.id, ana)
  await store.attachments.create(whole)
  await store.attachments.addPart(whole.id, 1)
  await store.attachments.addPart(whole.id, 0)
  await store.attachments.complete(whole.id, whole.expiresAtMs, newAudit("attachment.completed"))
  const begunFile = attachmentOf(group.id, bea)
  await store.attachments.create(begunFile)
  await store.attachments.addPart(begunFile.id, 1)

  const pair = newConversation([ana.userId, bea.userId], { ...place, kind: "DIRECT" })
  await store.conversations.create(pair, creatorOf(bea.id), newAudit("conversation.created"))

  const revoked: MessagingDevice = { ...old, status: "REVOKED", revokedAtMs: nowMs + 3, changedAtMs: nowMs + 3 }
  await store.devices.change(changeOf(revoked, { list: newList(3n), revoked: [old.id] }))
  const directiveId = newId("dir", nowMs, random(10))
  const asked = { id: directiveId, userId: old.userId, deviceId: old.id, nowMs: nowMs + 4 }
  await store.conversations.decideDirective(
    group.id,
    (one) => decideRevocation(one, asked),
    () => null,
  )
  const report: ForkReport = {
    ...{ deviceId: bea.id, userId: bea.userId, epoch: 2n, seq: 3n },
    ...{ fault: "STATE_TAG_MISMATCH", stateTag: random(), reportedAtMs: nowMs + 5 },
  }
  await store.conversations.reportFork(
    group.id,
    report,
    () => false,
    () => [],
  )
  const chunks = [random(40), random(30)]
  const backup = await putBackup(store, bea, chunks)
  const nonce = random(16)
  await store.proofNonces.use(ana.id, nonce, Date.now() + 100_000)
  const pending = await store.welcomes.findPending(old.id, group.id)
  if (pending === undefined) throw new Error("no welcome")
  return {
    ...{ place, ana, bea, old, packages, claim, group, pair, said, report, directiveId, nonce },
    ...{ whole, begunFile, pendingWelcome: pending.id, backup, chunks },
  }
}
