import assert from "node:assert/strict"
import { randomBytes } from "../../support/messaging/device-parts.ts"
import * as scene from "../scene.ts"
import { refuses } from "../scene.ts"

export const cases = scene.cases("idempotency", {
  async "the same key with the same message gives the same answer"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "once")
    const first = await one.append(said)
    await one.send(room, "something else")
    assert.deepEqual(await one.append(said), first)
    await two.sync(two.room(room.id))
    assert.deepEqual(
      two.room(room.id).read.map(({ text }) => text),
      ["once", "something else"],
    )
  },
  async "the same message under another key gives the same sequence number"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "once")
    const first = await one.append(said)
    const again = await one.append({ ...said, idempotencyKey: randomBytes(16) })
    assert.equal(again.seq, first.seq)
    const { headSeq } = await one.calls.conversations.listMessages({ conversationId: room.id })
    assert.equal(headSeq, first.seq)
  },
  async "the same key with another message is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "this")
    await one.append(said)
    const { idempotencyKey } = said
    await refuses("IDEMPOTENCY_MISMATCH", one.append({ ...(await one.stageText(room, "that")), idempotencyKey }))
    const { request } = await one.stageUpdate(room)
    await refuses("IDEMPOTENCY_MISMATCH", one.append({ ...request, idempotencyKey }))
  },
  async "a key belongs to its device: two devices may choose the same"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "mine")
    const first = await one.append(said)
    const theirs = { ...(await two.stageText(two.room(room.id), "theirs")), idempotencyKey: said.idempotencyKey }
    assert.equal((await two.append(theirs)).seq, first.seq + 1n)
  },
  async "a commit whose answer was lost is answered again, also after other commits"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const staged = await one.stageUpdate(room)
    const first = await one.commit(staged)
    await two.sync(two.room(room.id))
    await two.update(two.room(room.id))
    assert.deepEqual(await one.append(staged), first)
  },
  async "a message whose answer was lost is answered after the epoch has passed"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "before")
    const first = await one.append(said)
    await one.update(room)
    assert.deepEqual(await one.append(said), first)
  },
  async "the key of a refused request can be used again"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const late = await two.stageText(two.room(room.id), "late")
    await one.update(room)
    await refuses("STALE_EPOCH", two.append(late))
    await two.sync(two.room(room.id))
    const anew = await two.stageText(two.room(room.id), "in time")
    await two.append({ ...anew, idempotencyKey: late.idempotencyKey })
  },
})
