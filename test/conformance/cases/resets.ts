import assert from "node:assert/strict"
import { hash } from "@signet/canonical/hash"
import { type Authorization, type Conversation, Conversation_Status } from "@signet/proto/messaging/v1/records"
import type { TestDevice } from "../../support/messaging/device.ts"
import { hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import { type Room, tagOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { refuses, type Scene, there } from "../scene.ts"

export const shown = async (device: TestDevice, { id: conversationId }: Pick<Room, "id">): Promise<Conversation> =>
  there((await device.calls.conversations.getConversation({ conversationId })).conversation)

/** A direct conversation that neither device can follow, and a new device of its first user. */
export async function stranded({ pair, device }: Scene) {
  const [one, two] = await pair()
  const room = await one.createDirect(two.userId)
  const [theirs] = await two.join()
  for (const each of [one, two]) await each.calls.conversations.requestRejoin({ conversationId: room.id })
  const fresh = await device({ of: one })
  return { one, two, fresh, room, theirs: there(theirs) }
}

/** The same proof, for a commit that adds only this device. */
const onlyFor = ({ claim, ...authorization }: Authorization, { id }: TestDevice): Authorization => {
  const keyPackages = there(claim).keyPackages.filter(({ deviceId }) => deviceId === id)
  return { ...authorization, claim: { ...there(claim), keyPackages } }
}

export const cases = scene.cases("resets", {
  async "a direct conversation that no member can open continues in a new group with all devices"(acting) {
    const { one, two, fresh, room } = await stranded(acting)
    const before = await shown(fresh, room)
    const staged = await fresh.stageReset(before, await fresh.authorizeReset(room.id))
    const answer = await fresh.append(staged)
    assert.deepEqual([answer.seq, answer.epoch], [before.headSeq + 1n, before.epoch + 1n])
    // A repetition gets the same answer.
    assert.deepEqual(await fresh.append(staged), answer)
    const after = await shown(fresh, room)
    assert.equal(after.id, before.id)
    assert.notEqual(hexOf(after.mlsGroupId), hexOf(before.mlsGroupId))
    assert.equal(hexOf(after.mlsGroupId.subarray(0, 16)), hexOf(before.mlsGroupId.subarray(0, 16)))
    assert.deepEqual([after.status, after.directives], [Conversation_Status.ACTIVE, []])
    assert.equal(hexOf(after.receiptHead), hexOf(hash("commit-receipt", answer.receipt)))
    assert.deepEqual(new Set(after.members.map(({ deviceId }) => deviceId)), new Set([one.id, two.id, fresh.id]))
    assert.equal(after.members[0]?.deviceId, fresh.id)
    await fresh.sync(staged.room)
    const [joined] = await two.join()
    assert.equal(tagOf(there(joined)), tagOf(staged.room))
    await fresh.send(staged.room, "hello again")
    await two.sync(there(joined))
    assert.deepEqual(
      there(joined).read.map(({ text }) => text),
      ["hello again"],
    )
    await fresh.update(staged.room)
  },
  async "a reset by a device that has read beyond the log gets a number beyond every one that was assigned"(acting) {
    const { fresh, room } = await stranded(acting)
    const before = await shown(fresh, room)
    const staged = await fresh.stageReset(before, await fresh.authorizeReset(room.id))
    const request = { ...staged.request, processedSeq: before.headSeq + 1n }
    const answer = await fresh.append({ ...staged, request })
    assert.equal(answer.seq, before.headSeq + 2n ** 20n)
    staged.room.seq = answer.seq - 1n
    await fresh.sync(staged.room)
    const { seq } = await fresh.send(staged.room, "the next number")
    assert.equal(seq, answer.seq + 1n)
    const { envelopes, headSeq } = await fresh.calls.conversations.listMessages({
      conversationId: room.id,
      afterSeq: answer.seq - 1n,
    })
    assert.deepEqual([envelopes.map((one) => one.seq), headSeq], [[answer.seq, seq], seq])
  },
  async "no commit but a reset skips a number"({ pair }) {
    const [one, two] = await pair()
    const staged = await one.stageUpdate(await one.createDirect(two.userId))
    await refuses("LOG_INCOMPLETE", one.append({ ...staged, request: { ...staged.request, processedSeq: 1_000n } }))
  },
  async "nothing of the replaced group is accepted any more"(acting) {
    const { two, fresh, room, theirs } = await stranded(acting)
    const message = await two.stageText(theirs, "of the group before")
    const update = await two.stageUpdate(theirs)
    const before = await shown(fresh, room)
    await fresh.append(await fresh.stageReset(before, await fresh.authorizeReset(room.id)))
    await refuses("STALE_EPOCH", two.append(message))
    await refuses("COMMIT_CONFLICT", two.append(update))
    const expectedEpoch = before.epoch + 1n
    await refuses("MLS_WRONG_GROUP", two.append({ ...message, expectedEpoch, idempotencyKey: randomBytes(16) }))
  },
  async "a reset is refused while a member that could add the device is online"({ pair, device }) {
    const [one, two] = await pair()
    const room = await one.createDirect(two.userId)
    const fresh = await device({ of: one })
    await refuses("RESET_NOT_NEEDED", fresh.authorizeReset(room.id))
    await one.calls.conversations.requestRejoin({ conversationId: room.id })
    await two.join()
    await two.sync(two.room(room.id))
    await refuses("RESET_NOT_NEEDED", fresh.authorizeReset(room.id))
  },
  async "a reset is refused for an active member, a group, before the first commit, and for others"({
    trio,
    group,
    device,
  }) {
    const [one, two, three] = await trio()
    const room = await one.createDirect(two.userId)
    await refuses("NOTHING_TO_DO", one.authorizeReset(room.id))
    await refuses("RESOURCE_UNRESOLVED", three.authorizeReset(room.id))
    const all = await group(one, two, three)
    const fresh = await device({ of: one })
    await refuses("MEMBERSHIP_CHANGE_NOT_ALLOWED", fresh.authorizeReset(all.id))
    const { conversation } = await one.create({ case: "direct", value: { peerUserId: three.userId } })
    await refuses("NOTHING_TO_DO", one.authorizeReset(there(conversation).id))
  },
  async "a reset requires a key package of the peer, and consumes none of the caller's own"({ device, ...acting }) {
    const { one, two, fresh, room } = await stranded({ device, ...acting })
    const inventory = async () => (await one.calls.keyPackages.getInventory({})).inventory?.available
    const before = await inventory()
    await two.calls.keyPackages.retireKeyPackages({})
    await refuses("NO_KEY_PACKAGE", fresh.authorizeReset(room.id))
    assert.equal(await inventory(), before)
  },
  async "a reset's proof is valid for one commit, of one device, in one group"(acting) {
    const { one, two, fresh, room } = await stranded(acting)
    const [late, bare] = [await acting.device({ of: two }), await acting.device({ of: two, keyPackages: 0 })]
    const before = await shown(fresh, room)
    const authorization = await fresh.authorizeReset(room.id)
    const ofLate = onlyFor(authorization, late)
    const otherGroup = authorization.mlsGroupId.with(31, (authorization.mlsGroupId[31] ?? 0) ^ 1)
    await refuses(
      "PROOF_REFUSED PROOF_WRONG_GROUP",
      fresh.append(await fresh.stageReset(before, authorization, { mlsGroupId: otherGroup })),
    )
    // The existing group does not accept the proof.
    await refuses("PROOF_REFUSED PROOF_WRONG_GROUP", one.append(await one.stageChange(one.room(room.id), ofLate)))
    await refuses("PROOF_REFUSED PROOF_WRONG_COMMITTER", bare.append(await bare.stageReset(before, authorization)))
    const elsewhere = randomBytes(32)
    await refuses(
      "MLS_WRONG_GROUP",
      fresh.append(await fresh.stageReset(before, authorization, { mlsGroupId: elsewhere })),
    )
    const early = await fresh.stageReset(before, authorization, { epoch: 0n })
    await refuses("NOT_MEMBER", fresh.append(early))
  },
  async "another kind of proof cannot reset"(acting) {
    const { one, two, fresh, room } = await stranded(acting)
    const late = await acting.device({ of: two })
    const before = await shown(fresh, room)
    const add = await one.authorizeAdd(one.room(room.id), { deviceIds: [late.id] })
    const mlsGroupId = (await fresh.authorizeReset(room.id)).mlsGroupId
    await refuses(
      "PROOF_REFUSED PROOF_WRONG_GROUP",
      fresh.append(await fresh.stageReset(before, { ...add, mlsGroupId })),
    )
  },
  async "of two parallel resets one is accepted, and a proof of the earlier state is stale"(acting) {
    const { two, fresh, room } = await stranded(acting)
    const other = await acting.device({ of: two })
    const before = await shown(fresh, room)
    const staged = await Promise.all(
      [fresh, other].map(async (each) => each.stageReset(before, await each.authorizeReset(room.id))),
    )
    const late = await acting.device({ of: two })
    const stale = await late.authorizeReset(room.id)
    const [first, second] = staged
    const outcomes = await Promise.allSettled([fresh.append(there(first)), other.append(there(second))])
    assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1)
    const after = await shown(fresh, room)
    assert.equal(after.epoch, before.epoch + 1n)
    await refuses("NOT_MEMBER", late.append(await late.stageReset(before, stale)))
    await refuses("PROOF_STALE", late.append(await late.stageReset(after, stale)))
  },
})
