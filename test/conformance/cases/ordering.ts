import assert from "node:assert/strict"
import { timestampMs } from "@bufbuild/protobuf/wkt"
import { hash } from "@signet/canonical/hash"
import { Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { hexOf } from "../../support/messaging/device-parts.ts"
import { tagOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { refuses, there } from "../scene.ts"

export const cases = scene.cases("ordering", {
  async "all members read the same messages in the same order"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    for (const [device, text] of [
      [one, "first"],
      [two, "second"],
      [three, "third"],
      [one, "fourth"],
    ] as const) {
      await device.send(device.room(room.id), text)
      for (const other of [one, two, three]) await other.sync(other.room(room.id))
    }
    const heard = [one, two, three].map((device) => device.room(room.id).read.map(({ seq, text }) => `${seq} ${text}`))
    assert.deepEqual(heard, [
      ["3 second", "4 third"],
      ["2 first", "4 third", "5 fourth"],
      ["2 first", "3 second", "5 fourth"],
    ])
  },
  async "sequence numbers have no gap from 1 on, and each entry has its hash, time and sender"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "hello")
    await one.append(said)
    await one.update(room)
    const { envelopes, headSeq } = await one.calls.conversations.listMessages({ conversationId: room.id })
    assert.deepEqual(
      envelopes.map(({ seq, epoch, kind }) => [seq, epoch, kind]),
      [
        [1n, 0n, Envelope_Kind.COMMIT],
        [2n, 1n, Envelope_Kind.APPLICATION],
        [3n, 1n, Envelope_Kind.COMMIT],
      ],
    )
    assert.equal(headSeq, 3n)
    for (const { message, contentHash, kind, senderDeviceId, receipt } of envelopes) {
      const isCommit = kind === Envelope_Kind.COMMIT
      assert.equal(hexOf(contentHash), hexOf(hash(isCommit ? "commit" : "content", message)))
      assert.equal(senderDeviceId, one.id)
      assert.equal(receipt.length > 0, isCommit)
    }
    const times = envelopes.map(({ acceptedAt }) => timestampMs(there(acceptedAt)))
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    )
    if (said.payload.case !== "application") throw new Error("a text")
    assert.equal(hexOf(there(envelopes[1]).message), hexOf(said.payload.value))
  },
  async "only the sender gets the idempotency key of an append"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "hello")
    await one.append(said)
    const list = { conversationId: room.id, afterSeq: 1n }
    const [mine] = (await one.calls.conversations.listMessages(list)).envelopes
    assert.equal(hexOf(there(mine).idempotencyKey), hexOf(said.idempotencyKey))
    const [theirs] = (await two.calls.conversations.listMessages(list)).envelopes
    assert.equal(theirs?.idempotencyKey.length, 0)
  },
  async "the log is read in pages, from any sequence number on"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    for (let i = 0; i < 5; i++) await one.send(room, `${i}`)
    const places = async (afterSeq: bigint, limit: number) =>
      (await two.calls.conversations.listMessages({ conversationId: room.id, afterSeq, limit })).envelopes.map(
        ({ seq }) => Number(seq),
      )
    assert.deepEqual(await places(1n, 2), [2, 3])
    assert.deepEqual(await places(3n, 2), [4, 5])
    assert.deepEqual(await places(5n, 2), [6])
    assert.deepEqual(await places(6n, 2), [])
    assert.deepEqual(await places(1_000n, 2), [])
  },
  async "an added device reads from the commit that added it on"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    await one.send(room, "before")
    await one.add(room, { userIds: [three.userId] })
    await one.send(room, "after")
    const [joined] = await three.join()
    assert.deepEqual(
      joined?.read.map(({ text }) => text),
      ["after"],
    )
    const { envelopes } = await three.calls.conversations.listMessages({ conversationId: room.id })
    assert.deepEqual(
      envelopes.map(({ seq }) => seq),
      [3n, 4n],
    )
  },
  async "a removed device reads up to its removal, and no further"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    await one.send(room, "before")
    const late = await three.stageText(three.room(room.id), "I am still here")
    await one.remove(room, { userIds: [three.userId] })
    await one.send(room, "after")
    const removed = await three.sync(three.room(room.id))
    assert.equal(removed.isMember, false)
    assert.deepEqual(
      removed.read.map(({ text }) => text),
      ["before"],
    )
    const { envelopes } = await three.calls.conversations.listMessages({ conversationId: room.id })
    assert.deepEqual(
      envelopes.map(({ seq }) => seq),
      [1n, 2n, 3n],
    )
    await refuses("RESOURCE_UNRESOLVED", three.append(late))
  },
  async "a device that is removed and added again reads both spans, and nothing in between"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    await one.remove(room, { userIds: [three.userId] })
    await one.send(room, "between")
    await one.add(room, { userIds: [three.userId] })
    await one.send(room, "after")
    await three.join()
    assert.deepEqual(
      three.room(room.id).read.map(({ text }) => text),
      ["after"],
    )
    const { envelopes } = await three.calls.conversations.listMessages({ conversationId: room.id, afterSeq: 2n })
    assert(!envelopes.some(({ seq }) => seq === 3n), "what was said between")
  },
  async "receipts are a chain over all membership changes"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    await one.update(room)
    await one.add(room, { userIds: [three.userId] })
    await one.remove(room, { userIds: [three.userId] })
    await two.sync(two.room(room.id))
    assert.equal(tagOf(two.room(room.id)), tagOf(room))
    assert.equal(room.epoch, 4n)
  },
  async "a cursor only moves forward, and not beyond the log"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    await one.send(room, "hello")
    const ack = (processedSeq: bigint) =>
      two.calls.conversations.ackMessages({ conversationId: room.id, processedSeq, processedEpoch: 1n })
    assert.equal((await ack(2n)).cursor?.processedSeq, 2n)
    assert.equal((await ack(1n)).cursor?.processedSeq, 2n)
    await refuses("INVALID_FIELD", ack(3n))
    const { conversation } = await two.calls.conversations.getConversation({ conversationId: room.id })
    assert.deepEqual([conversation?.cursor?.processedSeq, conversation?.cursor?.processedEpoch], [2n, 1n])
    const mine = await one.calls.conversations.getConversation({ conversationId: room.id })
    assert.equal(mine.conversation?.cursor?.processedSeq ?? 0n, 0n)
  },
  async "a device that was offline applies everything at once"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    for (let i = 0; i < 3; i++) {
      await one.send(room, `message ${i}`)
      await one.update(room)
    }
    await two.sync(two.room(room.id))
    assert.deepEqual(
      two.room(room.id).read.map(({ text }) => text),
      ["message 0", "message 1", "message 2"],
    )
    assert.equal(tagOf(two.room(room.id)), tagOf(room))
  },
})
