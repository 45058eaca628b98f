import assert from "node:assert/strict"
import { newId } from "@signet/kernel/ids"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { NoKeyPackageSchema } from "@signet/proto/messaging/v1/conflict"
import { ConversationSchema, DirectiveKind } from "@signet/proto/messaging/v1/records"
import { newClaimId } from "../../support/messaging/committing.ts"
import type { TestDevice } from "../../support/messaging/device.ts"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { refusal, refuses, there } from "../scene.ts"
import { shown, stranded } from "./resets.ts"

const block = (by: TestDevice, { userId }: Pick<TestDevice, "userId">) => by.calls.blocks.blockUser({ userId })
const unblock = (by: TestDevice, { userId }: Pick<TestDevice, "userId">) => by.calls.blocks.unblockUser({ userId })
const blockedBy = async ({ calls }: TestDevice) => there((await calls.blocks.listBlockedUsers({})).list)
const createDirect = (by: TestDevice, { userId }: TestDevice) =>
  by.calls.conversations.createConversation({
    kind: { case: "direct", value: { peerUserId: userId } },
    idempotencyKey: randomBytes(16),
    claimId: newClaimId(),
  })
const createGroup = (by: TestDevice, ...others: TestDevice[]) =>
  by.calls.conversations.createConversation({
    kind: { case: "group", value: { userIds: others.map(({ userId }) => userId) } },
    idempotencyKey: randomBytes(16),
    claimId: newClaimId(),
  })
const authorizeFirst = (by: TestDevice, conversationId: string) =>
  by.calls.conversations.authorizeMembership({
    conversationId,
    change: { case: "create", value: { claimId: newClaimId() } },
  })
const idsListedBy = async ({ calls }: TestDevice) =>
  (await calls.conversations.listConversations({})).conversations.map(({ id }) => id)

/** All that a refused caller can read, without ids and times, which differ from call to call. */
async function answerOf(call: Promise<unknown>) {
  const { error } = await refusal(call)
  const metadata = error.findDetails(ErrorInfoSchema).map((info) => Object.keys(info.metadata).toSorted())
  const devices = error.findDetails(NoKeyPackageSchema).map(({ deviceIds }) => deviceIds.length)
  const conversations = error
    .findDetails(ConversationSchema)
    .map(({ kind, status, epoch, userIds, members }) => ({ kind, status, epoch, userIds: userIds.length, members }))
  return {
    code: error.code,
    message: error.rawMessage,
    details: error.details.length,
    metadata,
    devices,
    conversations,
  }
}

export const cases = [
  ...scene.cases("blocked users", {
    async "every device of a user sees the list, and a repetition changes nothing"({ device, pair }) {
      const [one, other] = await pair()
      const second = await device({ of: one, keyPackages: 0 })
      assert.deepEqual([(await blockedBy(second)).version, (await blockedBy(second)).userIds], [0n, []])
      const { list } = await block(one, other)
      assert.deepEqual([there(list).version, there(list).userIds], [1n, [other.userId]])
      assert.deepEqual((await block(second, other)).list, list)
      assert.deepEqual(await blockedBy(second), list)
      assert.equal((await one.calls.conversations.listConversations({})).blockListVersion, 1n)
      const after = there((await unblock(second, other)).list)
      assert.deepEqual([after.version, after.userIds], [2n, []])
      assert.deepEqual((await unblock(one, other)).list, after)
      assert.deepEqual(await blockedBy(one), after)
    },
    async "a user neither sees nor changes the blocks of another one"({ pair }) {
      const [one, other] = await pair()
      await block(one, other)
      assert.deepEqual((await blockedBy(other)).userIds, [])
      assert.equal((await other.calls.conversations.listConversations({})).blockListVersion, 0n)
      // Each call changes the list of its caller.
      await unblock(other, one)
      await unblock(other, other)
      assert.deepEqual((await blockedBy(one)).userIds, [other.userId])
    },
    async "the caller, an unknown user and a malformed id are refused"({ device }) {
      const one = await device({ keyPackages: 0 })
      const self = await refusal(block(one, one))
      assert.equal(self.reason, "INVALID_FIELD")
      assert.match(self.error.rawMessage, /user_id/)
      await refuses("RESOURCE_UNRESOLVED", block(one, { userId: newId("prn", Date.now(), randomBytes(10)) }))
      await refuses("INVALID_FIELD", block(one, { userId: "prn_1" }))
      await refuses("INVALID_FIELD", unblock(one, { userId: one.id }))
      assert.deepEqual((await blockedBy(one)).userIds, [])
    },
    async "a blocked user gets the answer for a user whose devices have no key package"({ trio, device }) {
      const [blocked, blocking, third] = await trio()
      const empty = await device({ keyPackages: 0 })
      await block(blocking, blocked)
      const ask = [createDirect, createGroup] as const
      for (const create of ask) {
        const refused = await refuses("NO_KEY_PACKAGE", create(blocked, blocking))
        assert.equal(refused.error.findDetails(NoKeyPackageSchema)[0]?.deviceIds[0], blocking.id)
        assert.deepEqual(await answerOf(create(blocked, blocking)), await answerOf(create(blocked, empty)))
      }
      const room = await blocked.createGroup([third.userId])
      for (const target of [{ userIds: [blocking.userId] }, { deviceIds: [blocking.id] }]) {
        const claim = { claimId: newClaimId(), conversationId: room.id, ...target }
        await refuses("NO_KEY_PACKAGE", blocked.calls.keyPackages.claimKeyPackages(claim))
        await refuses("NO_KEY_PACKAGE", blocked.authorizeAdd(room, target))
      }
      const both = [blocking.userId, third.userId]
      const { claim } = await blocked.calls.keyPackages.claimKeyPackages({
        claimId: newClaimId(),
        conversationId: room.id,
        userIds: both,
      })
      assert.deepEqual(
        there(claim).keyPackages.map(({ deviceId }) => deviceId),
        [third.id],
      )
      assert.deepEqual(there(claim).deviceIdsWithout, [blocking.id])
      assert.equal((await blocking.calls.keyPackages.getInventory({})).inventory?.available, 3)
    },
    async "every device of a blocked user is refused, and a device that the user registers later"({ pair, device }) {
      const [blocked, blocking] = await pair()
      const before = await device({ of: blocked })
      const room = await blocked.createGroup([(await device()).userId])
      await before.join()
      const claimId = newClaimId()
      const claim = { conversationId: room.id, userIds: [blocking.userId] }
      await blocked.calls.keyPackages.claimKeyPackages({ ...claim, claimId })
      await block(blocking, blocked)
      const after = await device({ of: blocked })
      await blocked.add(room, { deviceIds: [after.id] })
      await after.join()
      for (const one of [blocked, before, after]) {
        await refuses("NO_KEY_PACKAGE", createDirect(one, blocking))
        const again = { ...claim, claimId: newClaimId() }
        await refuses("NO_KEY_PACKAGE", one.calls.keyPackages.claimKeyPackages(again))
      }
      // The claim from before the block gives nothing, to its own device and to another one.
      for (const one of [blocked, before]) {
        await refuses("NO_KEY_PACKAGE", one.calls.keyPackages.claimKeyPackages({ ...claim, claimId }))
      }
    },
    async "a conversation that a blocked user began is hidden, and continues after the block"({ pair }) {
      const [blocked, blocking] = await pair()
      await block(blocking, blocked)
      const { error } = await refuses("NO_KEY_PACKAGE", createDirect(blocked, blocking))
      const { id } = there(error.findDetails(ConversationSchema)[0])
      await refuses("NO_KEY_PACKAGE", authorizeFirst(blocked, id))
      assert.deepEqual(await idsListedBy(blocking), [])
      await refuses("USER_BLOCKED", authorizeFirst(blocking, id))
      await unblock(blocking, blocked)
      assert.deepEqual(await idsListedBy(blocking), [id])
      const room = await blocked.createDirect(blocking.userId)
      assert.equal(room.id, id)
      assert.equal((await blocking.join()).length, 1)
    },
    async "a proof from before the block adds nobody after it"({ trio }) {
      const [blocked, blocking, third] = await trio()
      const room = await blocked.createGroup([third.userId])
      const claimId = newClaimId()
      const authorization = await blocked.authorizeAdd(room, { userIds: [blocking.userId] }, claimId)
      const staged = await blocked.stageChange(room, authorization)
      await block(blocking, blocked)
      await refuses("KEY_PACKAGE_NOT_CLAIMED TICKET_EXPIRED", blocked.append(staged))
      await refuses("NO_KEY_PACKAGE", blocked.authorizeAdd(room, { userIds: [blocking.userId] }, claimId))
      assert.deepEqual(await blocking.join(), [])
      await unblock(blocking, blocked)
      await blocked.append(staged)
      assert.equal((await blocking.join()).length, 1)
    },
    async "a blocked user cannot reset the direct conversation"(acting) {
      const { two, fresh, room } = await stranded(acting)
      await block(two, fresh)
      await refuses("NO_KEY_PACKAGE", fresh.authorizeReset(room.id))
      await unblock(two, fresh)
      const before = await shown(fresh, room)
      await fresh.append(await fresh.stageReset(before, await fresh.authorizeReset(room.id)))
    },
    async "a reset from before the block does not replace the group after it"(acting) {
      const { two, fresh, room } = await stranded(acting)
      const staged = await fresh.stageReset(await shown(fresh, room), await fresh.authorizeReset(room.id))
      await block(two, fresh)
      await refuses("KEY_PACKAGE_NOT_CLAIMED TICKET_EXPIRED", fresh.append(staged))
    },
    async "in a shared group nothing is refused"({ trio, group, device }) {
      const [blocked, blocking, third] = await trio()
      const room = await group(blocked, blocking, third)
      await block(blocking, blocked)
      await blocked.send(room, "still here")
      // The blocking user's next device, and a device that requests a rejoin.
      const next = await device({ of: blocking })
      await blocked.add(room, { deviceIds: [next.id] })
      assert.equal((await next.join()).length, 1)
      const { directive } = await blocking.calls.conversations.requestRejoin({ conversationId: room.id })
      assert.equal(there(directive).kind, DirectiveKind.REJOIN)
      await blocked.carryOut(room, there(directive).id)
      await blocked.carryOut(room, there(directive).id)
      assert.equal((await blocking.join()).length, 1)
    },
    async "a third user may add both to one group"({ trio }) {
      const [blocked, blocking, third] = await trio()
      await block(blocking, blocked)
      await third.createGroup([blocked.userId, blocking.userId])
      assert.equal((await blocked.join()).length, 1)
      assert.equal((await blocking.join()).length, 1)
    },
    async "messages of a blocked user are stored in an existing direct conversation"({ pair, device }) {
      const [blocked, blocking] = await pair()
      const room = await blocked.createDirect(blocking.userId)
      const [theirs] = await blocking.join()
      await block(blocking, blocked)
      await blocked.send(room, "no difference")
      await blocking.sync(there(theirs))
      assert.deepEqual(
        there(theirs).read.map(({ text }) => text),
        ["no difference"],
      )
      // Only the blocking user adds its own new device.
      const next = await device({ of: blocking })
      await refuses("NO_KEY_PACKAGE", blocked.authorizeAdd(room, { deviceIds: [next.id] }))
      await blocking.add(there(theirs), { deviceIds: [next.id] })
      assert.equal((await next.join()).length, 1)
    },
    async "the blocking user must unblock before it adds the other one"({ trio }) {
      const [blocked, blocking, third] = await trio()
      const room = await blocking.createGroup([third.userId])
      await block(blocking, blocked)
      const refused = await refuses("USER_BLOCKED", createDirect(blocking, blocked))
      assert.match(refused.error.rawMessage, /unblock/)
      await refuses("USER_BLOCKED", createGroup(blocking, third, blocked))
      // The refused calls have created nothing.
      assert.deepEqual(await idsListedBy(blocking), [room.id])
      await refuses("USER_BLOCKED", blocking.authorizeAdd(room, { userIds: [blocked.userId] }))
      await unblock(blocking, blocked)
      await blocking.add(room, { userIds: [blocked.userId] })
      assert.equal((await blocked.join()).length, 1)
    },
  }),
]
