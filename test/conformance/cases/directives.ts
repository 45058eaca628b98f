import assert from "node:assert/strict"
import { Conversation_Status, Directive_Status, DirectiveKind } from "@signet/proto/messaging/v1/records"
import type { TestDevice } from "../../support/messaging/device.ts"
import { type Room, tagOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { eventually, refuses, there } from "../scene.ts"

const open = async (device: TestDevice, { id: conversationId }: Room) =>
  (await device.calls.conversations.listDirectives({ conversationId })).directives

const statusOf = async (device: TestDevice, { id: conversationId }: Room) =>
  (await device.calls.conversations.getConversation({ conversationId })).conversation?.status

/** The open directive of this kind. The service may need a moment to issue it. */
async function issued(device: TestDevice, room: Room, kind: DirectiveKind) {
  const find = async () => (await open(device, room)).find((one) => one.kind === kind)
  return there(await eventually(find, (found) => found !== undefined))
}

const lease = (device: TestDevice, { id: conversationId }: Room, directiveId: string) =>
  device.calls.conversations.leaseDirective({ conversationId, directiveId })

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
/** `directive_commit_grace`, and what clocks differ by. */
const commitGraceMs = 1_200

/** Leases a directive once the lease of another device has ended. */
async function leaseOnceFree(device: TestDevice, room: Room, directiveId: string): Promise<void> {
  const isLeased = () =>
    lease(device, room, directiveId).then(
      () => true,
      (error: unknown) => refuses("DIRECTIVE_LEASED", Promise.reject(error)).then(() => false),
    )
  await eventually(isLeased, (answer) => answer)
}

const quick = scene.cases("directives", {
  async "the revocation of a device issues its removal, which a member commits"({ pair, group, device }) {
    const [one, two] = await pair()
    const second = await device({ of: two })
    const room = await group(one, two)
    await second.join()
    await two.calls.devices.revokeDevice({ deviceId: second.id })
    const directive = await issued(one, room, DirectiveKind.REVOCATION)
    assert.deepEqual([directive.userId, directive.deviceId], [two.userId, second.id])
    assert.equal(directive.status, Directive_Status.OPEN)
    await one.carryOut(room, directive.id)
    assert.deepEqual(await open(one, room), [])
    const { conversation } = await one.calls.conversations.getConversation({ conversationId: room.id })
    assert.deepEqual(
      conversation?.members.map(({ deviceId }) => deviceId),
      [one.id, two.id],
    )
    assert.equal(tagOf(await two.sync(two.room(room.id))), tagOf(room))
    await refuses("NOT_FOUND", lease(one, room, directive.id))
  },
  async "a leaving user is removed by another user's device, and cannot send until then"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const answer = await three.calls.conversations.leaveConversation({ conversationId: room.id })
    const directive = there(answer.directive)
    assert.deepEqual([directive.kind, directive.userId, directive.deviceId], [DirectiveKind.LEAVE, three.userId, ""])
    const again = await three.calls.conversations.leaveConversation({ conversationId: room.id })
    assert.equal(again.directive?.id, directive.id)
    await refuses("NOT_MEMBER", three.send(three.room(room.id), "one more thing"))
    await refuses("NOT_MEMBER", lease(three, room, directive.id))
    await two.carryOut(two.room(room.id), directive.id)
    assert.equal(tagOf(await one.sync(room)), tagOf(two.room(room.id)))
    assert.equal((await three.sync(three.room(room.id))).isMember, false)
  },
  async "a conversation that everybody has left is closed, and accepts nothing"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    await two.calls.conversations.leaveConversation({ conversationId: room.id })
    const answer = await one.calls.conversations.leaveConversation({ conversationId: room.id })
    assert.equal(answer.directive, undefined)
    assert.equal(await statusOf(one, room), Conversation_Status.CLOSED)
    await refuses("CONVERSATION_CLOSED", one.send(room, "anybody?"))
    await refuses("CONVERSATION_CLOSED", one.append(await one.stageUpdate(room)))
    await refuses("CONVERSATION_CLOSED", one.authorizeRemove(room, { userIds: [two.userId] }))
  },
  async "a device without the lease gets no proof for a directive"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const { directive } = await three.calls.conversations.leaveConversation({ conversationId: room.id })
    await refuses("DIRECTIVE_LEASED", one.authorizeCarryOut(room, there(directive).id))
  },
  async "a directive of another conversation is not found"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const nothing = "dir_00000000000000000000000000"
    await refuses("NOT_FOUND", lease(one, room, nothing))
    await refuses("NOT_FOUND", one.authorizeCarryOut(room, nothing))
  },
  async "a device that cannot follow is removed and added again"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const { directive } = await two.calls.conversations.requestRejoin({ conversationId: room.id })
    const { id, kind, deviceId } = there(directive)
    assert.deepEqual([kind, deviceId], [DirectiveKind.REJOIN, two.id])
    const again = await two.calls.conversations.requestRejoin({ conversationId: room.id })
    assert.equal(again.directive?.id, id)
    await refuses("NOT_MEMBER", lease(two, room, id))
    await one.carryOut(room, id)
    assert.deepEqual(
      (await open(one, room)).map(({ status }) => status),
      [Directive_Status.REMOVED],
    )
    await one.carryOut(room, id)
    assert.deepEqual(await open(one, room), [])
    await two.join()
    await one.send(room, "welcome back")
    await two.sync(two.room(room.id))
    assert.deepEqual(
      two.room(room.id).read.map(({ text }) => text),
      ["welcome back"],
    )
    assert.equal(tagOf(two.room(room.id)), tagOf(room))
  },
  async "a new device of a member is listed nowhere, asks to be added, and is"({ trio, group, device }) {
    const [one, two, outsider] = await trio()
    const room = await group(one, two)
    const second = await device({ of: two })
    const unjoined = async (of: TestDevice) =>
      (await of.calls.conversations.listConversations({ unjoined: true })).conversations
    for (const each of [one, two, outsider]) assert.deepEqual(await unjoined(each), [])
    assert.deepEqual((await second.calls.conversations.listConversations({})).conversations, [])
    // The service may need a moment to list what a commit has changed.
    const listed = await eventually(
      () => unjoined(second),
      ({ length }) => length > 0,
    )
    assert.deepEqual(
      listed.map(({ id, members }) => [id, members]),
      [[room.id, []]],
    )
    const { directive } = await second.calls.conversations.requestRejoin({ conversationId: room.id })
    const { id, kind, status, deviceId } = there(directive)
    assert.deepEqual([kind, status, deviceId], [DirectiveKind.REJOIN, Directive_Status.REMOVED, second.id])
    const again = await second.calls.conversations.requestRejoin({ conversationId: room.id })
    assert.equal(again.directive?.id, id)
    await one.carryOut(room, id)
    assert.deepEqual(await open(one, room), [])
    await second.join()
    await one.send(room, "welcome")
    await second.sync(second.room(room.id))
    assert.deepEqual(
      second.room(room.id).read.map(({ text }) => text),
      ["welcome"],
    )
    assert.deepEqual(await unjoined(second), [])
  },
  async "the request of a new device ends with its revocation"({ pair, group, device }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const second = await device({ of: two })
    const { directive } = await second.calls.conversations.requestRejoin({ conversationId: room.id })
    await two.calls.devices.revokeDevice({ deviceId: second.id })
    const answer = await lease(one, room, there(directive).id)
    assert.equal(answer.directive?.status, Directive_Status.DONE)
    assert.deepEqual(await open(one, room), [])
  },
  async "a rejoin blocks no other member"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    await two.calls.conversations.requestRejoin({ conversationId: room.id })
    await one.send(room, "meanwhile")
    await one.update(room)
  },
  async "a direct conversation continues without a revoked device"({ device }) {
    const [one, two] = [await device(), await device()]
    const second = await device({ of: two })
    const room = await one.createDirect(two.userId)
    await second.join()
    await second.calls.devices.revokeDevice({ deviceId: two.id })
    const directive = await issued(one, room, DirectiveKind.REVOCATION)
    await one.carryOut(room, directive.id)
    await one.send(room, "still here")
    await second.sync(second.room(room.id))
    assert.deepEqual(
      second.room(room.id).read.map(({ text }) => text),
      ["still here"],
    )
  },
})

const slow = scene.cases(
  "directives",
  {
    async "one device has the lease and cannot extend it, and others wait until it ends"({ trio, group }) {
      const [one, two, three] = await trio()
      const room = await group(one, two, three)
      const { directive } = await three.calls.conversations.leaveConversation({ conversationId: room.id })
      const { id } = there(directive)
      const first = await lease(one, room, id)
      assert.equal(first.directive?.leasedTo, one.id)
      const until = there(first.directive?.leasedUntil)
      await refuses("DIRECTIVE_LEASED", two.authorizeCarryOut(two.room(room.id), id))
      await refuses("DIRECTIVE_LEASED", lease(two, room, id))
      assert.deepEqual((await lease(one, room, id)).directive?.leasedUntil, until)
      await leaseOnceFree(two, room, id)
      await two.carryOut(two.room(room.id), id)
      await one.sync(room)
      assert.deepEqual(await open(one, room), [])
    },
    async "other commits wait for a removal, and its own does not"({ trio, group }) {
      const [one, two, three] = await trio()
      const room = await group(one, two, three)
      const { directive } = await three.calls.conversations.leaveConversation({ conversationId: room.id })
      await sleep(commitGraceMs)
      await refuses("COMMIT_REQUIRED", one.authorizeRemove(room, { userIds: [two.userId] }))
      await refuses("COMMIT_REQUIRED", one.append(await one.stageUpdate(room)))
      await one.carryOut(room, there(directive).id)
      await one.update(room)
    },
  },
  { slow: true },
)

export const cases = [...quick, ...slow]
