import assert from "node:assert/strict"
import { verifyMembershipProof } from "@signet/canonical/membership-proof"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Authorization } from "@signet/proto/messaging/v1/records"
import { membersOf, stateTag } from "../../../clients/core/messaging/mls.ts"
import type { StagedAppend } from "../../support/messaging/committing.ts"
import type { TestDevice } from "../../support/messaging/device.ts"
import {
  bytesOf,
  deviceIn,
  engine,
  hexOf,
  newLeafKey,
  nowSeconds,
  verify,
} from "../../support/messaging/device-parts.ts"
import { aadOf, type Room, tagOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { flipped, refuses, there } from "../scene.ts"

/** The commit of the authorization's change, with another proof or none. */
function withProof(device: TestDevice, room: Room, authorization: Authorization, proof: Uint8Array) {
  return device.stageChange(room, { ...authorization, proof })
}

/** A commit that adds packages under a proof, which may be for others. */
async function adding(room: Room, packages: Uint8Array[], proof: Uint8Array, tickets: Uint8Array[]) {
  const aad = aadOf(room, EnvelopeKind.COMMIT, proof)
  const staged = await engine.add(room.state, packages, { aad, ...(proof.length > 0 ? { proof } : {}) })
  return sending(room, staged, tickets)
}

function sending(room: Room, staged: StagedAppend["staged"], claimTickets: Uint8Array[] = []): StagedAppend {
  const { commit, groupInfo, welcome } = staged
  const value = { commit, groupInfo, ...(welcome ? { welcome, tree: staged.tree() } : {}), claimTickets }
  const request = {
    conversationId: room.id,
    idempotencyKey: crypto.getRandomValues(new Uint8Array(16)),
    expectedEpoch: room.epoch,
    payload: { case: "commit", value } as const,
  }
  return { room, request, staged }
}

const leafOf = ({ state }: Room, device: TestDevice) =>
  there(membersOf(state).find(({ credential }) => deviceIn(credential) === hexOf(bytesOf("dev", device.id)))).leaf

export const cases = scene.cases("membership", {
  async "a proof names the state and exactly the devices, and is valid for five minutes"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const { proof, keyPackageRefs } = await one.authorizeAdd(room, { userIds: [three.userId] })
    const { body } = verifyMembershipProof(proof, {
      issuerKeys: one.issuerKeys,
      ...one.place,
      conversationId: bytesOf("cnv", room.id),
      mlsGroupId: room.state.groupId,
      baseEpoch: 1n,
      baseStateTag: stateTag(room.state),
      atSeconds: BigInt(nowSeconds()),
      verify,
    })
    assert.deepEqual(
      body.added.map((subject) => hexOf(subject.keyPackageRef)),
      keyPackageRefs.map(hexOf),
    )
    assert.equal(body.removed.length, 0)
    assert(body.expiresAt - body.issuedAt <= 300n)
  },
  async "nobody is added or removed without a proof"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const added = await one.authorizeAdd(room, { userIds: [three.userId] })
    const none = new Uint8Array()
    await refuses("PROOF_REFUSED PROOF_MISSING", one.append(await withProof(one, room, added, none)))
    const removed = await one.authorizeRemove(room, { userIds: [two.userId] })
    await refuses("PROOF_REFUSED PROOF_MISSING", one.append(await withProof(one, room, removed, none)))
  },
  async "a device that the proof does not name is refused as a ghost"({ trio, group, device }) {
    const [one, two, three] = await trio()
    const ghost = await device()
    const room = await group(one, two)
    const added = await one.authorizeAdd(room, { userIds: [three.userId] })
    const other = await one.authorizeAdd(room, { userIds: [ghost.userId] })
    const packages = [added, other].map(({ claim }) => there(claim?.keyPackages[0]).keyPackage)
    const tickets = [added, other].map(({ claim }) => there(claim).ticket)
    await refuses("GHOST_MEMBER", one.append(await adding(room, packages, added.proof, tickets)))
  },
  async "a commit without a device that the proof names is refused"({ trio, group, device }) {
    const [one, two, three] = await trio()
    const fourth = await device()
    const room = await group(one, two)
    const { proof, claim } = await one.authorizeAdd(room, { userIds: [three.userId, fourth.userId] })
    const { keyPackages, ticket } = there(claim)
    const some = [there(keyPackages[0]).keyPackage]
    const commit = await adding(room, some, proof, [ticket])
    await refuses("PROOF_REFUSED PROOF_SUBJECTS_MISMATCH", one.append(commit))
  },
  async "the removal of another member than the proof names is refused"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const { proof } = await one.authorizeRemove(room, { userIds: [three.userId] })
    const options = { aad: aadOf(room, EnvelopeKind.COMMIT, proof), proof }
    const staged = await engine.remove(room.state, [leafOf(room, two)], options)
    await refuses("PROOF_REFUSED PROOF_SUBJECTS_MISMATCH", one.append(sending(room, staged)))
  },
  async "a proof is valid only for the requesting device"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const authorization = await one.authorizeRemove(room, { userIds: [three.userId] })
    const staged = await two.stageChange(two.room(room.id), authorization)
    await refuses("PROOF_REFUSED PROOF_WRONG_COMMITTER", two.append(staged))
  },
  async "a proof is valid only for its conversation"({ trio, group }) {
    const [one, two, three] = await trio()
    const [room, other] = [await group(one, two, three), await group(one, two, three)]
    const authorization = await one.authorizeRemove(other, { userIds: [three.userId] })
    await refuses("PROOF_REFUSED PROOF_WRONG_CONVERSATION", one.append(await one.stageChange(room, authorization)))
  },
  async "a proof is valid only for its state"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const authorization = await one.authorizeRemove(room, { userIds: [three.userId] })
    await two.update(two.room(room.id))
    await one.sync(room)
    await refuses("PROOF_STALE", one.append(await one.stageChange(room, authorization)))
  },
  async "an altered proof is refused"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const authorization = await one.authorizeRemove(room, { userIds: [three.userId] })
    const altered = await withProof(one, room, authorization, flipped(authorization.proof))
    await refuses("PROOF_REFUSED PROOF_BAD_SIGNATURE", one.append(altered))
  },
  async "a proof on a commit without a membership change is refused"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const { proof } = await one.authorizeRemove(room, { userIds: [three.userId] })
    const staged = await engine.update(room.state, { aad: aadOf(room, EnvelopeKind.COMMIT, proof), proof })
    await refuses("PROOF_REFUSED PROOF_UNEXPECTED", one.append(sending(room, staged)))
  },
  async "a package that was not claimed for this conversation is refused"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const { proof, claim } = await one.authorizeAdd(room, { userIds: [three.userId] })
    const packages = [there(claim?.keyPackages[0]).keyPackage]
    await refuses("KEY_PACKAGE_NOT_CLAIMED", one.append(await adding(room, packages, proof, [])))
    const other = await group(one, two)
    const elsewhere = there((await one.authorizeAdd(other, { userIds: [three.userId] })).claim).ticket
    const refused = await scene.refusal(one.append(await adding(room, packages, proof, [elsewhere])))
    assert.equal(refused.reason, "KEY_PACKAGE_NOT_CLAIMED", refused.code)
  },
  async "a member cannot be added, and a non-member cannot be removed"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    await refuses("NOTHING_TO_DO", one.authorizeAdd(room, { userIds: [two.userId] }))
    await refuses("NOTHING_TO_DO", one.authorizeRemove(room, { userIds: [three.userId] }))
    await refuses("NOTHING_TO_DO", one.authorizeAdd(room, {}))
  },
  async "a device cannot remove itself"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    await refuses("MEMBERSHIP_CHANGE_NOT_ALLOWED", one.authorizeRemove(room, { deviceIds: [one.id] }))
  },
  async "a removed member cannot commit"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two, three)
    const late = await three.stageUpdate(three.room(room.id))
    await one.remove(room, { userIds: [three.userId] })
    await refuses("RESOURCE_UNRESOLVED", three.append(late))
    assert.equal(tagOf(await two.sync(two.room(room.id))), tagOf(room))
  },
  async "a member's device outside the group cannot request changes"({ pair, group, device }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const second = await device({ of: two })
    await refuses("NOT_MEMBER", second.authorizeRemove({ ...room }, { userIds: [one.userId] }))
    await two.add(two.room(room.id), { deviceIds: [second.id] })
    const [joined] = await second.join()
    assert.equal(tagOf(there(joined)), tagOf(two.room(room.id)))
  },
  async "a device puts a renewed credential into its leaf"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const before = one.identity.signatureKey
    const { credentialHash } = await one.renew(newLeafKey())
    await one.commit(await one.stageUpdate(room, one.identity))
    assert.notEqual(hexOf(before), hexOf(one.identity.signatureKey))
    const { conversation } = await two.calls.conversations.getConversation({ conversationId: room.id })
    const leaf = conversation?.members.find(({ deviceId }) => deviceId === one.id)
    assert.equal(hexOf(there(leaf).credentialHash), hexOf(credentialHash))
    await two.sync(two.room(room.id))
    await one.send(room, "under the new key")
    await two.sync(two.room(room.id))
    assert.deepEqual(
      two.room(room.id).read.map(({ text }) => text),
      ["under the new key"],
    )
  },
})
