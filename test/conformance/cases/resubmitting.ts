// Members return what the service has lost. No log is lost here: a device returns what it has never appended, which the
// service cannot distinguish for a message, and must refuse for a commit.
import assert from "node:assert/strict"
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Envelope_Kind, type EnvelopeSchema } from "@signet/proto/messaging/v1/records"
import type { TestDevice } from "../../support/messaging/device.ts"
import type { Room } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { refuses } from "../scene.ts"

type Lost = MessageInitShape<typeof EnvelopeSchema> & { readonly message: Uint8Array }

/** The envelope of a message that the device has encrypted. */
async function lostText(sender: TestDevice, room: Room, seq: bigint, text = "lost"): Promise<Lost> {
  const { payload, expectedEpoch: epoch } = await sender.stageText(room, text)
  const message = payload.case === "application" ? payload.value : assert.fail("no message")
  return { seq, epoch, kind: Envelope_Kind.APPLICATION, message, senderDeviceId: sender.id }
}

const resubmit = (device: TestDevice, { id: conversationId }: Room, ...envelopes: Lost[]) =>
  device.calls.conversations.resubmitMessages({ conversationId, envelopes })

const logOf = async (device: TestDevice, { id: conversationId }: Room) =>
  (await device.calls.conversations.listMessages({ conversationId })).envelopes

export const cases = scene.cases("resubmitting", {
  async "a member returns a message of another one, at its sequence number and not before the last"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const past = timestampFromMs(1_000)
    const lost = { ...(await lostText(one, room, 2n)), acceptedAt: past }
    assert.equal((await resubmit(two, two.room(room.id), lost)).headSeq, 2n)
    const [commit, message] = await logOf(two, room)
    assert.deepEqual([message?.seq, message?.message, message?.senderDeviceId], [2n, lost.message, one.id])
    assert.deepEqual(message?.acceptedAt, commit?.acceptedAt)
    await two.sync(two.room(room.id))
    assert.deepEqual(
      two.room(room.id).read.map(({ text }) => text),
      ["lost"],
    )
    // Its sender, whose answer was lost, finds it.
    const payload = { case: "application", value: lost.message } as const
    const again = { conversationId: room.id, idempotencyKey: new Uint8Array(16), expectedEpoch: 1n, payload }
    assert.equal((await one.calls.conversations.appendMessage(again)).seq, 2n)
  },
  async "a returned message gets no time in the future"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const future = timestampFromMs(Date.now() + 86_400_000)
    await resubmit(two, room, { ...(await lostText(one, room, 2n)), acceptedAt: future })
    const [, message] = await logOf(two, room)
    assert.ok((message?.acceptedAt?.seconds ?? future.seconds) < future.seconds)
  },
  async "what follows an appended envelope and is refused ends the call without an error"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const second = await lostText(one, room, 2n)
    const third = { ...(await lostText(one, room, 3n, "third")), senderDeviceId: three.id }
    assert.equal((await resubmit(two, room, second, third)).headSeq, 2n)
    await refuses("NOT_MEMBER", resubmit(two, room, third))
  },
  async "envelopes that the log has are skipped, and those beyond a gap change nothing"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const [second, third, fifth] = [
      await lostText(one, room, 2n),
      await lostText(one, room, 3n, "third"),
      await lostText(one, room, 5n, "fifth"),
    ]
    assert.equal((await resubmit(two, room, third)).headSeq, 1n)
    assert.equal((await resubmit(two, room, second)).headSeq, 2n)
    assert.equal((await resubmit(two, room, second, third, fifth)).headSeq, 3n)
    assert.equal((await resubmit(one, room, second, third)).headSeq, 3n)
    // The log has it at another number.
    assert.equal((await resubmit(two, room, { ...second, seq: 4n })).headSeq, 3n)
    assert.equal((await logOf(two, room)).length, 3)
  },
  async "what follows a number that another envelope has taken is not appended"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const [second, third] = [await lostText(one, room, 2n), await lostText(one, room, 3n, "third")]
    const other = await lostText(two, two.room(room.id), 2n, "other")
    assert.equal((await resubmit(two, room, other)).headSeq, 2n)
    assert.equal((await resubmit(one, room, second, third)).headSeq, 2n)
    assert.equal((await resubmit(one, room, other, third)).headSeq, 3n)
  },
  async "a commit without the service's receipt for this commit and place is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const { request } = await one.stageUpdate(room)
    const [created] = await logOf(two, room)
    const lost = { seq: 2n, epoch: 1n, kind: Envelope_Kind.COMMIT, message: request.payload.value.commit }
    for (const receipt of [new Uint8Array(), created?.receipt ?? assert.fail("no commit")]) {
      await refuses("ENVELOPE_INVALID", resubmit(two, room, { ...lost, receipt, senderDeviceId: one.id }))
    }
    assert.equal((await logOf(two, room)).length, 1)
  },
  async "a message of another epoch or group, or of no member, is refused"({ trio, group, device }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const lost = await lostText(one, room, 2n)
    await refuses("NOT_MEMBER", resubmit(two, room, { ...lost, senderDeviceId: three.id }))
    await refuses("FUTURE_EPOCH", resubmit(two, room, { ...lost, epoch: 2n }))
    await refuses("MLS_MALFORMED", resubmit(two, room, { ...lost, message: new Uint8Array(40) }))
    const other = await group(two, await device())
    await refuses("MLS_WRONG_GROUP", resubmit(two, other, { ...lost, senderDeviceId: two.id }))
    await one.update(room)
    await refuses("STALE_EPOCH", resubmit(two, room, { ...lost, seq: 3n }))
    assert.equal((await logOf(one, room)).length, 2)
  },
  async "no device returns messages of a conversation that it is no member of, or leaves"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const lost = await lostText(one, room, 2n)
    await refuses("RESOURCE_UNRESOLVED", resubmit(three, room, lost))
    await two.calls.conversations.leaveConversation({ conversationId: room.id })
    await refuses("NOT_MEMBER", resubmit(two, room, lost))
    await refuses("NOT_MEMBER", resubmit(one, room, await lostText(two, two.room(room.id), 2n)))
    assert.equal((await logOf(one, room)).length, 1)
  },
  async "a device that has read more than the log has cannot use a lost sequence number"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const request = { ...(await one.stageText(room, "after the loss")), processedSeq: 2n }
    await refuses("LOG_INCOMPLETE", one.calls.conversations.appendMessage(request))
    const commit = { ...(await one.stageUpdate(room)).request, processedSeq: 2n }
    await refuses("LOG_INCOMPLETE", one.calls.conversations.appendMessage(commit))
    await resubmit(one, room, await lostText(one, room, 2n))
    assert.equal((await one.calls.conversations.appendMessage(request)).seq, 3n)
    // A repeated call is answered.
    assert.equal((await one.calls.conversations.appendMessage({ ...request, processedSeq: 9n })).seq, 3n)
  },
})
