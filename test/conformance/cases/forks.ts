import assert from "node:assert/strict"
import { ReportForkRequest_Fault } from "@signet/proto/messaging/v1/conversation_service"
import { Conversation_Status } from "@signet/proto/messaging/v1/records"
import type { TestDevice } from "../../support/messaging/device.ts"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import { type Room, tagOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { refuses, there } from "../scene.ts"

const report = (device: TestDevice, { id: conversationId }: Room, seq: bigint, epoch: bigint) =>
  device.calls.conversations.reportFork({
    conversationId,
    seq,
    epoch,
    fault: ReportForkRequest_Fault.COMMIT_UNPROCESSABLE,
    stateTag: randomBytes(32),
  })

/** Both of the two users report the same commit. */
async function quarantined({ pair, group }: scene.Scene) {
  const [one, two] = await pair()
  const room = await group(one, two)
  const { seq } = await one.update(room)
  await report(one, room, seq, 1n)
  const { status } = await report(two, room, seq, 1n)
  return { one, two, room, seq, status }
}

export const cases = scene.cases("forks", {
  async "a report names an existing commit"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const { seq } = await one.send(room, "no commit")
    await refuses("INVALID_FIELD", report(two, room, seq, 1n))
    await refuses("INVALID_FIELD", report(two, room, 100n, 1n))
    await refuses("INVALID_FIELD", report(two, room, 1n, 5n))
  },
  async "a conversation is quarantined when its users report a fork"(of) {
    const { one, room, status } = await quarantined(of)
    assert.equal(status, Conversation_Status.QUARANTINED)
    const { conversation } = await one.calls.conversations.getConversation({ conversationId: room.id })
    assert.equal(conversation?.status, Conversation_Status.QUARANTINED)
  },
  async "a quarantined conversation accepts no messages, changes or commits"(of) {
    const { one, two, room } = await quarantined(of)
    const third = await of.device()
    await refuses("CONVERSATION_QUARANTINED", one.send(room, "hello?"))
    await refuses("CONVERSATION_QUARANTINED", one.append(await one.stageUpdate(room)))
    await refuses("CONVERSATION_QUARANTINED", one.authorizeAdd(room, { userIds: [third.userId] }))
    await refuses("CONVERSATION_QUARANTINED", one.authorizeRemove(room, { userIds: [two.userId] }))
  },
  async "a repeated report is no error"(of) {
    const { one, room, seq } = await quarantined(of)
    assert.equal((await report(one, room, seq, 1n)).status, Conversation_Status.QUARANTINED)
  },
  async "the reports of one user among many do not quarantine a conversation"({ device, trio, group }) {
    const [one, two, three] = await trio()
    const [fourth, fifth] = [await device(), await device()]
    const room = await group(one, two, three, fourth, fifth)
    for (const other of [two, three, fourth, fifth]) {
      const { id: conversationId } = room
      await other.calls.conversations.ackMessages({ conversationId, processedSeq: 1n, processedEpoch: 1n })
    }
    for (let i = 0; i < 3; i++) {
      assert.equal((await report(two, room, 1n, 0n)).status, Conversation_Status.ACTIVE)
    }
    await one.send(room, "going on")
  },
  async "the quarantine ends when the reporting devices have rejoined"(of) {
    const { one, two, room, seq } = await quarantined(of)
    await two.sync(two.room(room.id))
    for (const [stuck, helper] of [
      [two, one],
      [one, two],
    ] as const) {
      const { directive } = await stuck.calls.conversations.requestRejoin({ conversationId: room.id })
      const own = helper.room(room.id)
      await helper.carryOut(own, there(directive).id)
      await helper.carryOut(own, there(directive).id)
      await stuck.join()
    }
    const { conversation } = await one.calls.conversations.getConversation({ conversationId: room.id })
    assert.equal(conversation?.status, Conversation_Status.ACTIVE)
    assert(there(conversation).headSeq > seq)
    await one.send(one.room(room.id), "together again")
    await two.sync(two.room(room.id))
    assert.equal(tagOf(one.room(room.id)), tagOf(two.room(room.id)))
    assert.deepEqual(
      two.room(room.id).read.map(({ text }) => text),
      ["together again"],
    )
  },
})
