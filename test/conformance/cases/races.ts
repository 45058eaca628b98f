import assert from "node:assert/strict"
import { CommitConflictSchema } from "@signet/proto/messaging/v1/conflict"
import { newClaimId } from "../../support/messaging/committing.ts"
import { hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import { tagOf } from "../../support/messaging/room.ts"
import { commitRound } from "../rounds.ts"
import * as scene from "../scene.ts"
import { eventually, refusal, there } from "../scene.ts"

export const cases = scene.cases("races", {
  async "of parallel commits at one epoch one is accepted, and the others get it"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const devices = [one, two, three]
    for (const commits of [2, 3, 6]) await commitRound(room.id, devices, commits)
    assert.equal(one.room(room.id).epoch, 4n)
  },
  async "parallel messages get unique sequence numbers without a gap"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const places: number[] = []
    // A device waits for its answer before it sends the next message, because receivers read its messages in order of
    // creation.
    for (let i = 0; i < 4; i++) {
      const said = []
      for (const device of [one, two, three]) said.push(await device.stageText(device.room(room.id), `${i}`))
      const answers = await Promise.all(said.map((text, j) => [one, two, three][j]?.append(text)))
      places.push(...answers.map((answer) => Number(answer?.seq)))
    }
    assert.deepEqual(
      places.toSorted((a, b) => a - b),
      Array.from({ length: 12 }, (_, i) => i + 2),
    )
    await one.sync(room)
    assert.equal(room.read.length, 8)
  },
  async "the same append sent many times in parallel is stored once"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "once")
    const answers = await Promise.all(Array.from({ length: 6 }, () => one.append(said)))
    assert.deepEqual(new Set(answers.map(({ seq }) => seq)), new Set([2n]))
    const { headSeq } = await two.calls.conversations.listMessages({ conversationId: room.id })
    assert.equal(headSeq, 2n)
  },
  async "of two messages with one key in parallel one is accepted"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const idempotencyKey = randomBytes(16)
    const both = [await one.stageText(room, "this"), await one.stageText(room, "that")]
    const outcomes = await Promise.allSettled(both.map((said) => one.append({ ...said, idempotencyKey })))
    const lost = outcomes.filter(({ status }) => status === "rejected")
    assert.equal(lost.length, 1)
    for (const loser of lost) {
      if (loser.status === "rejected")
        assert.equal((await refusal(Promise.reject(loser.reason))).reason, "IDEMPOTENCY_MISMATCH")
    }
  },
  async "parallel claims get no package twice, and all available packages"({ pair, group, device }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const target = await device({ keyPackages: 10 })
    const ask = (by: typeof one) =>
      by.calls.keyPackages.claimKeyPackages({
        claimId: newClaimId(),
        conversationId: room.id,
        userIds: [target.userId],
      })
    const outcomes = await Promise.allSettled(Array.from({ length: 16 }, (_, i) => ask(i % 2 === 0 ? one : two)))
    const given = outcomes.flatMap((outcome) =>
      outcome.status === "fulfilled"
        ? there(outcome.value.claim).keyPackages.map(({ keyPackageRef }) => hexOf(keyPackageRef))
        : [],
    )
    assert.deepEqual([given.length, new Set(given).size], [10, 10])
    for (const outcome of outcomes) {
      if (outcome.status === "rejected")
        assert.equal((await refusal(Promise.reject(outcome.reason))).reason, "NO_KEY_PACKAGE")
    }
  },
  async "a welcome is consumed by one of two parallel calls"({ pair }) {
    const [one, two] = await pair()
    await one.createDirect(two.userId)
    const { id: welcomeId } = there((await two.welcomes())[0])
    const consume = () => two.calls.welcomes.consumeWelcome({ welcomeId, idempotencyKey: randomBytes(16) })
    const outcomes = await Promise.allSettled([consume(), consume(), consume()])
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1)
    for (const outcome of outcomes) {
      if (outcome.status !== "rejected") continue
      assert.equal((await refusal(Promise.reject(outcome.reason))).reason, "WELCOME_ALREADY_CONSUMED")
    }
  },
  async "two users who create a conversation at the same time get one"({ device }) {
    const [one, two] = [await device(), await device()]
    const made = await Promise.all([
      one.create({ case: "direct", value: { peerUserId: two.userId } }),
      two.create({ case: "direct", value: { peerUserId: one.userId } }),
    ])
    assert.equal(new Set(made.map(({ conversation }) => conversation?.id)).size, 1)
    const [mine, theirs] = made
    const staged = [
      await one.stageFirst(there(mine.conversation), there(mine.authorization)),
      await two.stageFirst(there(theirs.conversation), there(theirs.authorization)),
    ]
    const [first, second] = await Promise.allSettled([one.append(there(staged[0])), two.append(there(staged[1]))])
    const winners = [first, second].filter(({ status }) => status === "fulfilled")
    assert.equal(winners.length, 1)
    const [winner, loser] = first.status === "fulfilled" ? [one, two] : [two, one]
    const id = there(mine.conversation).id
    await winner.sync(winner.room(id))
    await loser.join()
    assert.equal(tagOf(loser.room(id)), tagOf(winner.room(id)))
  },
  async "a message parallel to a commit is stored before it, or refused as stale"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    for (let i = 0; i < 4; i++) {
      const [staged, said] = [await one.stageUpdate(room), await two.stageText(two.room(room.id), `${i}`)]
      const [commit, message] = await Promise.allSettled([one.append(staged), two.append(said)])
      assert.equal(commit.status, "fulfilled")
      if (message.status === "rejected") {
        assert.equal((await refusal(Promise.reject(message.reason))).reason, "STALE_EPOCH")
      } else if (commit.status === "fulfilled") assert(message.value.seq < commit.value.seq)
      await one.sync(room)
      await two.sync(two.room(room.id))
    }
    assert.equal(tagOf(room), tagOf(two.room(room.id)))
  },
  async "a device that is revoked during its addition is removed soon"({ device }) {
    const [one, two] = [await device(), await device()]
    const second = await device({ of: two })
    const created = await one.create({ case: "group", value: { userIds: [two.userId] } })
    const staged = await one.stageFirst(there(created.conversation), there(created.authorization))
    const [appended] = await Promise.allSettled([
      one.append(staged),
      two.calls.devices.revokeDevice({ deviceId: second.id }),
    ])
    if (appended.status === "rejected") {
      const refused = await refusal(Promise.reject(appended.reason))
      assert.notEqual(refused.error.findDetails(CommitConflictSchema).length, 1)
      return
    }
    await one.sync(staged.room)
    const { id: conversationId } = staged.room
    const open = async () => (await one.calls.conversations.listDirectives({ conversationId })).directives
    const directives = await eventually(open, ({ length }) => length > 0)
    await one.carryOut(staged.room, there(directives[0], "the directive").id)
    const { conversation } = await one.calls.conversations.getConversation({ conversationId })
    assert(!conversation?.members.some(({ deviceId }) => deviceId === second.id))
  },
})
