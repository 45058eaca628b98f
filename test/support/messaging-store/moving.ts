// Calls every method of the store at a place that is being moved.
import { type ConversationId, idOf } from "@signet/kernel/ids"
import { decideLease } from "@signet/kernel/messaging/directive"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord, MessagingDevice } from "@signet/kernel/messaging/records"
import { expect } from "vitest"
import {
  changeOf,
  creatorOf,
  leavesOf,
  newAudit,
  newCommit,
  newConversation,
  newDevice,
  newKeyPackage,
  newList,
  newMessage,
  nowMs,
  random,
  signReceipt,
} from "../../../server/store/postgres/messaging/testing/world.ts"
import { freshId } from "../../../server/store/postgres/testing/people.ts"
import type { FullPlace } from "./full-place.ts"

export const newAttachment = (conversationId: ConversationId, owner: MessagingDevice): AttachmentRecord => ({
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
  expiresAtMs: nowMs + 1_000,
})

export const held = { reason: "PLACE_HELD", metadata: { retry_after: "1" } }

export interface Attempt {
  readonly isWrite: boolean
  readonly run: () => Promise<unknown>
}
const read = (run: Attempt["run"]): Attempt => ({ isWrite: false, run })
const write = (run: Attempt["run"]): Attempt => ({ isWrite: true, run })

/** By name. The types require that every new method of the store is classified here. */
export function attemptsOn(store: MessagingStore, full: FullPlace): readonly (readonly [string, Attempt])[] {
  const { place } = full
  const { ana, bea, old, group, pair, whole, begunFile, directiveId } = full
  const device = { deviceId: ana.id, userId: ana.userId, place }
  const audit = newAudit()
  const attempts: { readonly [Part in keyof MessagingStore]: Record<keyof MessagingStore[Part], Attempt> } = {
    devices: {
      find: read(() => store.devices.find(ana.id, place)),
      findByKey: read(() => store.devices.findByKey(ana.leafKey)),
      ofUser: read(() => store.devices.ofUser(ana.userId, place)),
      activeOf: read(() => store.devices.activeOf([ana.userId], place)),
      lists: read(() => store.devices.lists(ana.userId, place, 0n, 10)),
      change: write(() => store.devices.change(changeOf(newDevice(ana.userId, place), { list: newList(2n) }))),
      // Belongs to the auth service: messaging does not store sessions.
      bindSession: read(() => store.devices.bindSession(freshId("ses"), ana.id, audit)),
      dueEffects: read(async () => expect(await store.devices.dueEffects(10)).toEqual([])),
      effectsDone: write(() => store.devices.effectsDone(old.id)),
    },
    keyPackages: {
      upload: write(() => store.keyPackages.upload([newKeyPackage(ana)], nowMs)),
      claim: write(() => store.keyPackages.claim({ ...full.claim, id: freshId("clm") }, nowMs, audit)),
      inventory: read(() => store.keyPackages.inventory(ana.id, nowMs)),
      retire: write(() => store.keyPackages.retire(bea.id, "all")),
    },
    conversations: {
      create: write(() => store.conversations.create(newConversation([ana.userId], place), creatorOf(ana.id), audit)),
      find: read(() => store.conversations.find(group.id)),
      findSeen: read(() => store.conversations.findSeen(group.id, ana.id)),
      list: read(() => store.conversations.list(device, { size: 10, before: null })),
      memberUsers: read(() => store.conversations.memberUsers(device, { size: 10, after: null, only: null })),
      logProgress: read(() => store.conversations.logProgress(ana.id, [group.id])),
      append: write(async () => {
        const commit = newCommit(group, ana, leavesOf([ana, bea]), { membership: null })
        await expect(store.conversations.append(commit, signReceipt, nowMs, [])).rejects.toMatchObject(held)
        await store.conversations.append(newMessage(group, ana), signReceipt, nowMs, [])
      }),
      commitOf: read(() => store.conversations.commitOf(group.id, 0n)),
      messages: read(() => store.conversations.messages(group.id, 0n, { limit: 9, maxBytes: 99_999 })),
      membershipSpan: read(() => store.conversations.membershipSpan(group.id, ana.id, 0n)),
      ack: write(() => store.conversations.ack(group.id, ana.id, { processedSeq: 1n, processedEpoch: 1n })),
      touch: read(() => store.conversations.touch(group.id, bea.id, nowMs + 99_999)),
      online: read(() => store.conversations.online(group.id, 0)),
      groupInfo: read(() => store.conversations.groupInfo(group.id)),
      tree: read(() => store.conversations.tree(group.id, group.state?.treeHash ?? random(), 0)),
      decideDirective: write(() =>
        store.conversations.decideDirective(
          pair.id,
          () => ({ is: "close" }),
          () => null,
        ),
      ),
      leaseDirective: write(() =>
        store.conversations.leaseDirective(group.id, (one) => decideLease(one, directiveId, ana.id, nowMs + 99_999)),
      ),
      reportFork: write(() =>
        store.conversations.reportFork(
          group.id,
          { ...full.report, seq: 9n },
          () => true,
          () => [],
        ),
      ),
      withDevice: read(() => store.conversations.withDevice(ana.id)),
      prune: read(async () => expect(await store.conversations.prune(nowMs + 9e11, 100)).toBe(0)),
    },
    welcomes: {
      listPending: read(() => store.welcomes.listPending(old.id, nowMs, { size: 9, maxBytes: 99_999, after: null })),
      consume: write(() =>
        store.welcomes.consume(full.pendingWelcome, { deviceId: old.id, key: random(16) }, nowMs, audit),
      ),
      findPending: read(() => store.welcomes.findPending(old.id, group.id)),
      wereUsed: read(() => store.welcomes.wereUsed(group.id, [random()])),
      voidAll: write(() => store.welcomes.voidAll(old.id)),
    },
    attachments: {
      create: write(() => store.attachments.create(newAttachment(group.id, ana))),
      find: read(() => store.attachments.find(whole.id)),
      addPart: write(() => store.attachments.addPart(begunFile.id, 0)),
      complete: write(() => store.attachments.complete(begunFile.id, nowMs, audit)),
      delete: write(() => store.attachments.delete(whole.id, audit)),
      due: read(async () => expect(await store.attachments.due(nowMs + 9e11, 100)).toEqual([])),
      forget: write(() => store.attachments.forget(whole.id)),
    },
    blocks: {
      ofUser: read(() => store.blocks.ofUser(bea.userId, place)),
      change: write(() =>
        store.blocks.change({ userId: ana.userId, place, change: { userId: bea.userId, isBlocked: true } }, audit),
      ),
      blockersOf: read(() => store.blocks.blockersOf(ana.userId, [bea.userId], place)),
    },
    archives: {
      ofUser: read(() => store.archives.ofUser(bea.userId, place)),
      change: write(() =>
        store.archives.change(
          {
            ...{ userId: ana.userId, place },
            change: { id: "0".repeat(32), deviceId: ana.id, is: "create", kind: "BACKUP", header: "00" },
          },
          nowMs,
          audit,
        ),
      ),
      due: read(async () => expect(await store.archives.due(nowMs, 100)).toEqual([])),
      // Deletes what is gone, also at a place that was moved: archives are not moved.
      forget: read(() => store.archives.forget({ userId: ana.userId, place }, "0".repeat(32), nowMs)),
    },
    // Nonces of calls that are refused anyway.
    proofNonces: { use: read(() => store.proofNonces.use(ana.id, random(16), 0)) },
  }
  return Object.entries(attempts).flatMap(([part, methods]) =>
    Object.entries(methods).map(([name, attempt]): [string, Attempt] => [`${part}.${name}`, attempt]),
  )
}
