import assert from "node:assert/strict"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type { Append, CommitPayload } from "../../support/messaging/committing.ts"
import { bytesOf, engine, hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import { bentApplication, bentCommit, bentWelcome } from "../../support/messaging/forged.ts"
import { aadOf } from "../../support/messaging/room.ts"
import * as scene from "../scene.ts"
import { flipped, refuses, there } from "../scene.ts"

const text = (like: Append, value: Uint8Array): Append => ({
  ...like,
  idempotencyKey: randomBytes(16),
  payload: { case: "application", value },
})

const commit = (
  like: Append & { payload: { case: "commit"; value: CommitPayload } },
  change: Partial<CommitPayload>,
): Append => ({
  ...like,
  idempotencyKey: randomBytes(16),
  payload: { case: "commit", value: { ...like.payload.value, ...change } },
})

const bytesIn = (append: Append): Uint8Array =>
  append.payload.case === "application" ? append.payload.value : append.payload.value.commit

export const cases = scene.cases("malformed", {
  async "malformed MLS is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "hello")
    await refuses("MLS_MALFORMED", one.append(text(said, bytesIn(said).subarray(0, 50))))
    const { request } = await one.stageUpdate(room)
    const half = bytesIn(request).subarray(0, bytesIn(request).length - 10)
    await refuses("MLS_MALFORMED", one.append(commit(request, { commit: half })))
    for (const length of [1, 4, 100, 1_000]) {
      const refused = await scene.refusal(one.append(text(said, randomBytes(length))))
      assert.match(refused.reason, /^MLS_/)
    }
  },
  async "a non-canonical encoding is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "hello")
    await refuses("MLS_NON_CANONICAL", one.append(text(said, Uint8Array.of(...bytesIn(said), 0))))
    const { request } = await one.stageUpdate(room)
    await refuses("MLS_NON_CANONICAL", one.append(commit(request, { commit: Uint8Array.of(...bytesIn(request), 0) })))
  },
  async "a commit is refused as a message, and a message as a commit"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const said = await one.stageText(room, "hello")
    const { request } = await one.stageUpdate(room)
    await refuses("MLS_WRONG_WIRE_FORMAT", one.append(text(said, bytesIn(request))))
    await refuses("MLS_WRONG_WIRE_FORMAT", one.append(commit(request, { commit: bytesIn(said) })))
    const made = there((await one.newKeyPackages(1))[0])
    await refuses("MLS_WRONG_WIRE_FORMAT", one.append(text(said, made.keyPackage)))
  },
  async "a message of another group is refused"({ pair, group }) {
    const [one, two] = await pair()
    const [room, other] = [await group(one, two), await group(one, two)]
    const said = await one.stageText(other, "hello")
    await refuses("MLS_WRONG_GROUP", one.append({ ...said, conversationId: room.id }))
    const { request } = await one.stageUpdate(other)
    await refuses("MLS_WRONG_GROUP", one.append({ ...request, conversationId: room.id }))
  },
  async "the authenticated data must name the conversation and the kind"({ pair, group }) {
    const [one, two] = await pair()
    const [room, other] = [await group(one, two), await group(one, two)]
    const said = await one.stageText(room, "hello")
    const withAad = (authenticatedData: Uint8Array) =>
      one.append(text(said, bentApplication(bytesIn(said), { authenticatedData })))
    const kind = EnvelopeKind.APPLICATION
    const elsewhere = buildEnvelopeAad({ conversationId: bytesOf("cnv", other.id), kind })
    await refuses("ENVELOPE_INVALID AAD_WRONG_CONVERSATION", withAad(elsewhere))
    await refuses("ENVELOPE_INVALID AAD_WRONG_KIND", withAad(aadOf(room, EnvelopeKind.COMMIT)))
    await refuses("ENVELOPE_INVALID AAD_MALFORMED", withAad(randomBytes(40)))
    await refuses("ENVELOPE_INVALID AAD_MALFORMED", withAad(new Uint8Array()))
  },
  async "an altered commit is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const { request } = await one.stageUpdate(room)
    const altered = bentCommit(bytesIn(request), () => ({
      authenticatedData: aadOf({ ...room, receipt: "first" }, EnvelopeKind.COMMIT),
    }))
    const refused = await scene.refusal(one.append(commit(request, { commit: altered })))
    assert.match(refused.reason, /^(MLS_MALFORMED|CREDENTIAL_REFUSED)$/)
  },
  async "another device's commit is refused"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const { request } = await one.stageUpdate(room)
    const refused = await scene.refusal(two.append(request))
    assert.match(refused.reason, /^(NOT_MEMBER|ENVELOPE_INVALID|PROOF_REFUSED|CREDENTIAL_REFUSED|MLS_MALFORMED)$/)
  },
  async "the GroupInfo must be that of the commit's new epoch"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const [first, second] = [await one.stageUpdate(room), await one.stageUpdate(room)]
    const { groupInfo } = second.request.payload.value
    await refuses("GROUP_INFO_MISMATCH", one.append(commit(first.request, { groupInfo })))
    const own = first.request.payload.value.groupInfo
    await refuses("GROUP_INFO_MISMATCH", one.append(commit(first.request, { groupInfo: flipped(own) })))
    const wrong = one.append(commit(first.request, { groupInfo: bytesIn(first.request) }))
    await refuses("MLS_WRONG_WIRE_FORMAT", wrong)
  },
  async "the tree must match the GroupInfo"({ trio, group }) {
    const [one, two, three] = await trio()
    const room = await group(one, two)
    const { request } = await one.stageChange(room, await one.authorizeAdd(room, { userIds: [three.userId] }))
    const other = await engine.update(room.state, { aad: aadOf(room, EnvelopeKind.COMMIT) })
    await refuses("GROUP_INFO_MISMATCH", one.append(commit(request, { tree: other.tree() })))
    const broken = await scene.refusal(one.append(commit(request, { tree: randomBytes(500) })))
    assert.match(broken.reason, /^(MLS_|GROUP_INFO_MISMATCH)/)
    const { tree: _, ...without } = request.payload.value
    await refuses("GROUP_INFO_MISMATCH", one.append({ ...request, payload: { case: "commit", value: without } }))
  },
  async "a welcome must be for exactly the added devices"({ trio, group, device }) {
    const [one, two, three] = await trio()
    const fourth = await device()
    const room = await group(one, two)
    const subjects = { userIds: [three.userId, fourth.userId] }
    const { request } = await one.stageChange(room, await one.authorizeAdd(room, subjects))
    const welcome = there(request.payload.value.welcome)
    await refuses("WELCOME_RECIPIENT_MISMATCH", one.append(commit(request, { welcome: new Uint8Array() })))
    await refuses("WELCOME_RECIPIENT_MISMATCH", one.append(commit(request, { welcome: bentWelcome(welcome, 1) })))
    const update = await one.stageUpdate(room)
    await refuses("WELCOME_RECIPIENT_MISMATCH", one.append(commit(update.request, { welcome })))
    await one.append(request)
  },
  async "a refused commit changes nothing"({ pair, group }) {
    const [one, two] = await pair()
    const room = await group(one, two)
    const staged = await one.stageUpdate(room)
    await refuses(
      "GROUP_INFO_MISMATCH",
      one.append(commit(staged.request, { groupInfo: flipped(staged.staged.groupInfo) })),
    )
    const { conversation } = await one.calls.conversations.getConversation({ conversationId: room.id })
    assert.deepEqual([conversation?.epoch, conversation?.headSeq], [1n, 1n])
    const { seq } = await one.commit(staged)
    assert.equal(seq, 2n)
    assert.equal(
      hexOf(there((await one.calls.conversations.getGroupInfo({ conversationId: room.id })).groupInfo)),
      hexOf(staged.staged.groupInfo),
    )
  },
})
