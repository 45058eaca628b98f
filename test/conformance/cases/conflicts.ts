import assert from "node:assert/strict"
import { hash } from "@signet/canonical/hash"
import { CommitConflictSchema, StaleEpochSchema } from "@signet/proto/messaging/v1/conflict"
import { newClaimId } from "../../support/messaging/committing.ts"
import { hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import { tagOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { refuses, there } from "../scene.ts"

export const cases = scene.cases("conflicts", {
  async "the refusal of an epoch's second commit contains the first one"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const [mine, theirs] = [await one.stageUpdate(room), await two.stageUpdate(two.room(room.id))]
    const won = await one.commit(mine)
    const { error } = await refuses("COMMIT_CONFLICT", two.append(theirs))
    const told = there(error.findDetails(CommitConflictSchema)[0], "CommitConflict")
    const { commit } = mine.request.payload.value
    assert.deepEqual([told.attemptedEpoch, told.currentEpoch, told.winningSeq], [1n, 2n, won.seq])
    assert.equal(told.conversationId, room.id)
    assert.equal(hexOf(told.winningCommitHash), hexOf(hash("commit", commit)))
    assert.equal(hexOf(told.receipt), hexOf(won.receipt))
    assert.equal(hexOf(there(told.envelope).message), hexOf(commit))
    assert.equal(told.envelope?.idempotencyKey.length, 0)
    assert(told.retryAfter !== undefined)
    await two.sync(two.room(room.id))
    await two.update(two.room(room.id))
    assert.equal(tagOf(await one.sync(room)), tagOf(two.room(room.id)))
  },
  async "a commit of a much earlier epoch gets that epoch's accepted commit"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const late = await two.stageUpdate(two.room(room.id))
    const won = await one.update(room)
    await one.update(room)
    const { error } = await refuses("COMMIT_CONFLICT", two.append(late))
    const told = there(error.findDetails(CommitConflictSchema)[0])
    assert.deepEqual([told.attemptedEpoch, told.currentEpoch, told.winningSeq], [1n, 3n, won.seq])
  },
  async "the refusal of a message of an earlier epoch says where to continue reading"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const late = await two.stageText(two.room(room.id), "late")
    const { seq } = await one.update(room)
    const { error } = await refuses("STALE_EPOCH", two.append(late))
    const told = there(error.findDetails(StaleEpochSchema)[0], "StaleEpoch")
    assert.deepEqual([told.attemptedEpoch, told.currentEpoch, told.fromSeq], [1n, 2n, seq])
    await two.sync(two.room(room.id))
    await two.send(two.room(room.id), "in time")
  },
  async "a message of a future epoch is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const staged = await one.stageUpdate(room)
    const early = { ...room, state: staged.staged.next, epoch: 2n }
    const { error } = await refuses("FUTURE_EPOCH", one.append(await one.stageText(early, "early")))
    const told = there(error.findDetails(StaleEpochSchema)[0])
    assert.deepEqual([told.attemptedEpoch, told.currentEpoch, told.fromSeq], [2n, 1n, 0n])
    const next = await one.stageUpdate(early)
    await refuses("FUTURE_EPOCH", one.append(next))
  },
  async "a request that names another epoch than its message is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    await one.update(room)
    const said = await one.stageText(room, "hello")
    await refuses("STALE_EPOCH", one.append({ ...said, expectedEpoch: 1n }))
    const old = await two.stageText(two.room(room.id), "old")
    await refuses("ENVELOPE_INVALID", two.append({ ...old, expectedEpoch: 2n }))
  },
  async "an authorization for an old or different state is refused"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const before = two.room(room.id)
    await one.update(room)
    const { error } = await refuses("STALE_EPOCH", two.authorizeAdd(before, { userIds: [three.userId] }))
    assert.equal(there(error.findDetails(StaleEpochSchema)[0]).currentEpoch, 2n)
    const ask = (baseEpoch: bigint, baseStateTag: Uint8Array) =>
      one.calls.conversations.authorizeMembership({
        conversationId: room.id,
        baseEpoch,
        baseStateTag,
        change: { case: "add", value: { userIds: [three.userId], claimId: newClaimId() } },
      })
    await refuses("FUTURE_EPOCH", ask(3n, randomBytes(32)))
    await refuses("PROOF_STALE", ask(2n, randomBytes(32)))
  },
  async "after a conflict the same claim id is authorized again, without further packages"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const claimId = newClaimId()
    const lost = await one.stageChange(room, await one.authorizeAdd(room, { userIds: [three.userId] }, claimId))
    await two.update(two.room(room.id))
    await refuses("COMMIT_CONFLICT", one.append(lost))
    await one.sync(room)
    const again = await one.authorizeAdd(room, { userIds: [three.userId] }, claimId)
    await one.commit(await one.stageChange(room, again))
    assert.equal((await three.calls.keyPackages.getInventory({})).inventory?.available, 2)
    const [joined] = await three.join()
    assert.equal(tagOf(there(joined)), tagOf(room))
  },
  async "a user that another commit has added is not authorized again"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const claimId = newClaimId()
    const add = { userIds: [three.userId] }
    const mine = await one.stageChange(room, await one.authorizeAdd(room, add, claimId))
    await two.add(two.room(room.id), add)
    await refuses("COMMIT_CONFLICT", one.append(mine))
    await one.sync(room)
    await refuses("NOTHING_TO_DO", one.authorizeAdd(room, add, claimId))
  },
})
