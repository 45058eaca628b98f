import assert from "node:assert/strict"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import type { CreateConversationRequestSchema } from "@signet/proto/messaging/v1/conversation_service"
import { Conversation_Status, ConversationKind } from "@signet/proto/messaging/v1/records"
import { newClaimId } from "../../support/messaging/committing.ts"
import { hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import { tagOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { refuses, there } from "../scene.ts"

type New = MessageInitShape<typeof CreateConversationRequestSchema>

const nowhere = { conversationId: "cnv_00000000000000000000000000" }

export const cases = scene.cases("conversations", {
  async "two users have one direct conversation, whoever creates it"({ device }) {
    const [one, other] = [await device(), await device()]
    const room = await one.createDirect(other.userId)
    const again = await one.create({ case: "direct", value: { peerUserId: other.userId } })
    assert.equal(again.conversation?.id, room.id)
    assert.equal(again.authorization, undefined)
    const back = await other.create({ case: "direct", value: { peerUserId: one.userId } })
    assert.equal(back.conversation?.id, room.id)
    assert.equal(back.conversation?.kind, ConversationKind.DIRECT)
    assert.deepEqual(new Set(back.conversation?.userIds), new Set([one.userId, other.userId]))
  },
  async "peer_user_id must not be the caller"({ device }) {
    const one = await device()
    await refuses("INVALID_FIELD", one.create({ case: "direct", value: { peerUserId: one.userId } }))
  },
  async "a conversation with an unknown user is refused"({ device }) {
    const one = await device()
    const userIds = ["prn_00000000000000000000000000"]
    await refuses("RESOURCE_UNRESOLVED", one.create({ case: "direct", value: { peerUserId: userIds[0] ?? "" } }))
    await refuses("RESOURCE_UNRESOLVED", one.create({ case: "group", value: { userIds } }))
  },
  async "a repeated creation of a group with the same key gives the same group, and other users are refused"({ trio }) {
    const [one, two, three] = await trio()
    const { calls } = one
    const key = { idempotencyKey: randomBytes(16), claimId: newClaimId() }
    const withTwo = { kind: { case: "group", value: { userIds: [two.userId] } }, ...key } satisfies New
    const first = await calls.conversations.createConversation(withTwo)
    const again = await calls.conversations.createConversation(withTwo)
    assert.equal(again.conversation?.id, first.conversation?.id)
    assert.deepEqual(again.authorization?.claim, first.authorization?.claim)
    const withThree = { ...withTwo, kind: { case: "group", value: { userIds: [three.userId] } } } satisfies New
    await refuses("IDEMPOTENCY_MISMATCH", calls.conversations.createConversation(withThree))
  },
  async "a new group is at epoch 0 without members, and its first commit adds everybody"({ trio }) {
    const [one, two, three] = await trio()
    const userIds = [two.userId, three.userId]
    const { calls } = one
    const { conversation, authorization } = await one.create({ case: "group", value: { userIds } })
    const fresh = there(conversation)
    assert.deepEqual([fresh.epoch, fresh.headSeq, fresh.members.length, fresh.stateTag.length], [0n, 0n, 0, 0])
    assert.deepEqual(new Set(fresh.userIds), new Set([one.userId, ...userIds]))
    const staged = await one.stageFirst(fresh, there(authorization))
    const answer = await one.commit(staged)
    assert.deepEqual([answer.seq, answer.epoch, answer.receipt.length > 0], [1n, 1n, true])
    const after = there((await calls.conversations.getConversation({ conversationId: fresh.id })).conversation)
    assert.deepEqual([after.epoch, after.headSeq, after.status], [1n, 1n, Conversation_Status.ACTIVE])
    assert.equal(hexOf(after.stateTag), tagOf(staged.room))
    assert.equal(hexOf(after.receiptHead), hexOf(hash("commit-receipt", answer.receipt)))
    assert.deepEqual(
      after.members.map(({ leafIndex, joinedEpoch }) => [leafIndex, joinedEpoch]),
      [
        [0, 1n],
        [1, 1n],
        [2, 1n],
      ].map(([leaf, epoch]) => [leaf, epoch]),
    )
    assert.equal(after.members[0]?.deviceId, one.id)
    assert.deepEqual(after.userIds, [])
    const [joined] = await two.join()
    assert.equal(tagOf(there(joined)), tagOf(staged.room))
  },
  async "all devices of a user are added"({ device }) {
    const one = await device()
    const peer = await device()
    const [second, own] = [await device({ of: peer }), await device({ of: one })]
    const room = await one.createDirect(peer.userId)
    for (const other of [peer, second, own]) assert.equal(tagOf(there((await other.join())[0])), tagOf(room))
  },
  async "either user may send the first commit, and one is accepted"({ device }) {
    const [one, two] = [await device(), await device()]
    const mine = await one.create({ case: "direct", value: { peerUserId: two.userId } })
    const theirs = await two.create({ case: "direct", value: { peerUserId: one.userId } })
    assert.equal(theirs.conversation?.id, mine.conversation?.id)
    const first = await one.stageFirst(there(mine.conversation), there(mine.authorization))
    const second = await two.stageFirst(there(theirs.conversation), there(theirs.authorization))
    await one.commit(first)
    await refuses("COMMIT_CONFLICT", two.append(second))
    const [joined] = await two.join()
    assert.equal(tagOf(there(joined)), tagOf(first.room))
  },
  async "a peer without key packages gives an error, and the call can be repeated"({ device }) {
    const one = await device()
    const peer = await device({ keyPackages: 0 })
    const direct = { case: "direct", value: { peerUserId: peer.userId } } as const
    await refuses("NO_KEY_PACKAGE", one.create(direct))
    await peer.upload(1)
    const room = await one.createDirect(peer.userId)
    await one.send(room, "there you are")
    const [joined] = await peer.join()
    assert.deepEqual(
      joined?.read.map(({ text }) => text),
      ["there you are"],
    )
  },
  async "a direct conversation keeps its two users"({ device }) {
    const [one, two] = [await device(), await device()]
    const third = await device()
    const room = await one.createDirect(two.userId)
    const added = one.authorizeAdd(room, { userIds: [third.userId] })
    await refuses("MEMBERSHIP_CHANGE_NOT_ALLOWED", added)
    const byDevice = one.authorizeAdd(room, { deviceIds: [third.id] })
    await refuses("MEMBERSHIP_CHANGE_NOT_ALLOWED", byDevice)
    await refuses("MEMBERSHIP_CHANGE_NOT_ALLOWED", one.authorizeRemove(room, { userIds: [two.userId] }))
    const leave = one.calls.conversations.leaveConversation({ conversationId: room.id })
    await refuses("MEMBERSHIP_CHANGE_NOT_ALLOWED", leave)
  },
  async "conversations are listed by pages, newest first, without their members"({ trio }) {
    const [one, two, three] = await trio()
    const me = one
    const first = await me.createGroup([two.userId])
    const second = await me.createGroup([three.userId])
    const page = await me.calls.conversations.listConversations({ pageSize: 1 })
    const rest = await me.calls.conversations.listConversations({ pageSize: 1, pageToken: page.nextPageToken })
    const all = [...page.conversations, ...rest.conversations]
    assert.deepEqual(
      all.map(({ id }) => id),
      [second.id, first.id],
    )
    assert.deepEqual(
      all.map(({ members }) => members.length),
      [0, 0],
    )
    const foreign = me.calls.conversations.listConversations({ pageToken: "of another list" })
    await refuses("INVALID_FIELD", foreign)
    assert.deepEqual(
      (await two.calls.conversations.listConversations({})).conversations.map(({ id }) => id),
      [first.id],
    )
  },
  async "another user's conversation is answered like an unknown one, in every call"({ trio, group }) {
    const [one, two, outsider] = await trio()
    const { id: conversationId } = await group(one, two)
    const { conversations } = outsider.calls
    for (const which of [{ conversationId }, nowhere]) {
      await refuses("RESOURCE_UNRESOLVED", conversations.getConversation(which))
      await refuses("RESOURCE_UNRESOLVED", conversations.listMessages(which))
      await refuses("RESOURCE_UNRESOLVED", conversations.getGroupInfo(which))
      await refuses("RESOURCE_UNRESOLVED", conversations.getTree({ ...which, treeHash: "0".repeat(64) }))
      await refuses("RESOURCE_UNRESOLVED", conversations.listDirectives(which))
      await refuses("RESOURCE_UNRESOLVED", conversations.ackMessages(which))
      await refuses("RESOURCE_UNRESOLVED", conversations.leaveConversation(which))
      await refuses("RESOURCE_UNRESOLVED", conversations.requestRejoin(which))
      await refuses("RESOURCE_UNRESOLVED", conversations.reportFork({ ...which, epoch: 1n, seq: 1n, fault: 1 }))
      const directive = { ...which, directiveId: "dir_00000000000000000000000000" }
      await refuses("RESOURCE_UNRESOLVED", conversations.leaseDirective(directive))
      const value = { userIds: [one.userId] }
      await refuses(
        "RESOURCE_UNRESOLVED",
        conversations.authorizeMembership({ ...which, baseEpoch: 1n, change: { case: "remove", value } }),
      )
      const payload = { case: "application", value: randomBytes(300) } as const
      const append = { ...which, idempotencyKey: randomBytes(16), expectedEpoch: 1n, payload }
      await refuses("RESOURCE_UNRESOLVED", conversations.appendMessage(append))
    }
  },
  async "the GroupInfo is that of the last commit, and there is none before the first commit"({ pair }) {
    const [one, two] = await pair()
    const me = one
    const { conversation, authorization } = await me.create({ case: "group", value: { userIds: [two.userId] } })
    const conversationId = there(conversation).id
    await refuses("NOT_FOUND", me.calls.conversations.getGroupInfo({ conversationId }))
    const staged = await me.stageFirst(there(conversation), there(authorization))
    await me.commit(staged)
    const answer = await me.calls.conversations.getGroupInfo({ conversationId })
    assert.equal(hexOf(answer.groupInfo), hexOf(staged.staged.groupInfo))
    assert.equal(answer.epoch, 1n)
    assert.equal(answer.treeHash, hexOf(hash("tree-blob", there(staged.request.payload.value.tree))))
    const tree = await me.treeOf({ conversationId, treeHash: answer.treeHash })
    assert.equal(hexOf(tree), hexOf(there(staged.request.payload.value.tree)))
    const half = { conversationId, treeHash: answer.treeHash, offset: 100 }
    const { chunk, size } = await me.calls.conversations.getTree(half)
    assert.deepEqual([hexOf(chunk), size], [hexOf(tree.subarray(100)), tree.length])
    const strange = { conversationId, treeHash: "0".repeat(64) }
    await refuses("NOT_FOUND", me.calls.conversations.getTree(strange))
  },
})
