// What nobody who means well sends: calls again, bytes bent, proofs of the past, fields that are none.
import { create } from "@bufbuild/protobuf"
import { KeyPackageService, RetireKeyPackagesRequestSchema } from "@signet/proto/messaging/v1/key_package_service"
import { asDevice, proofHeader, proofOf } from "../../support/messaging/calls.ts"
import type { Append, CommitPayload, StagedAppend } from "../../support/messaging/committing.ts"
import { bytesOf, newLeafKey, randomBytes } from "../../support/messaging/device-parts.ts"
import { bentApplication, bentCommit, bentWelcome } from "../../support/messaging/forged.ts"
import { callSample, methods } from "../../support/messaging/samples.ts"
import { anyRoom, inOrder, membersOf, type Step } from "../side.ts"
import { append, sync } from "./conversations.ts"
import { turned } from "./people.ts"

/** Something that was called before, as it was. */
const again: Step = async (act) => {
  const { side, rng } = act
  if (side.again.length === 0) return
  side.again.splice(0, side.again.length - 60)
  const { what, call } = rng.pick(side.again)
  await act.see(`${what}, again`, call)
}

const commitWith = ({ request }: StagedAppend, bend: Partial<CommitPayload>): Append => ({
  ...request,
  idempotencyKey: randomBytes(16),
  payload: { case: "commit", value: { ...request.payload.value, ...bend } },
})

const bentCommits: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  await sync(act, device, room)
  if (!room.isMember) return
  const target = rng.pick(side.devices)
  const authorization = rng.chance(0.5)
    ? await act.see("authorizeMembership, add", () => device.authorizeAdd(room, { deviceIds: [target.id] }))
    : undefined
  const isAdd = (authorization?.keyPackageRefs.length ?? 0) > 0
  const staged =
    isAdd && authorization
      ? await device.stageChange(room, inOrder(side, authorization))
      : await device.stageUpdate(room)
  const { commit, groupInfo, tree, welcome } = staged.request.payload.value
  const at = rng.below(10_000)
  // Not in the membership tag, which ends it: no server can check that one, and nobody could go on.
  const signedLength = commit.length - 34
  const bends: (readonly [string, Append])[] = [
    ["random", commitWith(staged, { commit: randomBytes(400) })],
    ["cut", commitWith(staged, { commit: commit.subarray(0, commit.length - 10) })],
    ["longer", commitWith(staged, { commit: Uint8Array.of(...commit, 0) })],
    ["of another epoch", commitWith(staged, { commit: bentCommit(commit, ({ epoch }) => ({ epoch: epoch + 1n })) })],
    ["with a bit turned", commitWith(staged, { commit: turned(commit, at % signedLength) })],
    ["with a bit turned", commitWith(staged, { commit: turned(commit, (at * 7) % signedLength) })],
    ["with a GroupInfo with a bit turned", commitWith(staged, { groupInfo: turned(groupInfo, at) })],
    ["with a random GroupInfo", commitWith(staged, { groupInfo: randomBytes(200) })],
    ["with a random tree", commitWith(staged, { tree: randomBytes(300) })],
    ["with a random welcome", commitWith(staged, { welcome: randomBytes(300) })],
    ["with random tickets", commitWith(staged, { claimTickets: [randomBytes(100)] })],
    ["without tickets", commitWith(staged, { claimTickets: [] })],
    ["at the wrong epoch", { ...staged.request, expectedEpoch: room.epoch + BigInt(1 + rng.below(3)) }],
    ...(tree ? ([["with a tree with a bit turned", commitWith(staged, { tree: turned(tree, at) })]] as const) : []),
    ...(welcome
      ? ([["with nobody's welcome", commitWith(staged, { welcome: bentWelcome(welcome, 0) })]] as const)
      : []),
    ...(welcome ? ([["without its welcome", commitWith(staged, { welcome: new Uint8Array() })]] as const) : []),
  ]
  const [what, request] = rng.pick(bends)
  await append(act, `appendMessage, a commit ${what}`, device, request)
  await sync(act, device, room)
}

const bentTexts: Step = async (act) => {
  const { rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  const said = await device.stageText(room, "bent")
  if (said.payload.case !== "application") return
  const { value } = said.payload
  const bends: readonly (readonly [string, Uint8Array])[] = [
    ["cut", value.subarray(0, value.length - rng.below(60) - 1)],
    ["longer", Uint8Array.of(...value, 0)],
    ["with other authenticated data", bentApplication(value, { authenticatedData: randomBytes(40) })],
    ["with no authenticated data", bentApplication(value, { authenticatedData: new Uint8Array() })],
    ["of another epoch", bentApplication(value, { epoch: room.epoch + 1n })],
    ["of another group", bentApplication(value, { groupId: randomBytes(16) })],
    ["of another kind", bentApplication(value, { contentType: 2 })],
  ]
  const [what, bytes] = rng.pick(bends)
  // Taken or not, others cannot read it: it goes where it does no harm.
  await append(act, `appendMessage, a text ${what}`, device, {
    ...said,
    payload: { case: "application", value: bytes },
  })
}

/** A proof of a moment ago, when the group was another one. */
const staleProof: Step = async (act) => {
  const { side, rng } = act
  const found = anyRoom(act)
  if (found === undefined) return
  const { device, room } = found
  await sync(act, device, room)
  if (!room.isMember) return
  const target = rng.pick(side.devices)
  const ask = () => device.authorizeAdd(room, { deviceIds: [target.id] })
  const authorization = await act.see("authorizeMembership, add", ask)
  if (authorization === undefined || authorization.keyPackageRefs.length === 0) return
  const other = rng.pick(membersOf(side, room.id))
  await sync(act, other.device, other.room)
  if (!other.room.isMember) return
  const update = await other.device.stageUpdate(other.room)
  await append(act, "appendMessage, update", other.device, update.request)
  await sync(act, other.device, other.room)
  await sync(act, device, room)
  if (!room.isMember) return
  // The old proof in a commit of the new epoch.
  const staged = await device.stageChange(room, inOrder(side, authorization))
  await append(act, "appendMessage, with a proof of the epoch before", device, staged.request)
  await sync(act, device, room)
}

const callProofs: Step = async (act) => {
  const { side, rng } = act
  const [device, other] = [rng.pick(side.devices), rng.pick(side.devices)]
  const method = KeyPackageService.method.retireKeyPackages
  const message = create(RetireKeyPackagesRequestSchema, {})
  const key = { id: bytesOf("dev", device.id), signer: device.key.signer }
  const retire = (proof: string) =>
    device.calls.keyPackages.retireKeyPackages({}, { headers: { [proofHeader]: proof } })
  const proofs: readonly (readonly [string, () => Promise<string>])[] = [
    ["good", () => proofOf(key, method, message)],
    ["none", async () => ""],
    ["garbage", async () => "A".repeat(rng.below(600))],
    ["of a minute ago", () => proofOf(key, method, message, { atMs: Date.now() - 70_000 })],
    ["of a minute to come", () => proofOf(key, method, message, { atMs: Date.now() + 70_000 })],
    ["of another key", () => proofOf({ ...key, signer: newLeafKey().signer }, method, message)],
    ["of another device", () => proofOf({ id: bytesOf("dev", other.id), signer: other.key.signer }, method, message)],
    ["of another method", () => proofOf(key, { ...method, parent: method.parent, name: "Other" }, message)],
    [
      "of another body",
      () => proofOf(key, method, create(RetireKeyPackagesRequestSchema, { keyPackageRefs: [randomBytes(32)] })),
    ],
  ]
  const [what, make] = rng.pick(proofs)
  const proof = await make()
  await act.see(`retireKeyPackages, proof ${what}`, () => retire(proof))
  if (rng.chance(0.5)) await act.see(`retireKeyPackages, proof ${what}, again`, () => retire(proof))
}

/** Any method with a request of things that are not there, by all kinds of callers. */
const samples: Step = async (act) => {
  const { side, rng } = act
  const device = rng.pick(side.devices)
  const method = rng.pick(methods)
  const transport = method.methodKind === "unary" ? side.transport(rng.below(4)) : side.streaming
  const { token } = device.credentials
  const callers: readonly (readonly [string, string | undefined])[] = [
    ["a device", token],
    ["nobody", undefined],
    ["a stranger", "e30.e30.AAAA"],
    ["a token cut short", token?.slice(0, -8)],
    ["a token with a bit turned", token && token.slice(0, 40) + (token[40] === "A" ? "B" : "A") + token.slice(41)],
    ["two words", "a b"],
  ]
  const [who, as] = rng.pick(callers)
  const credentials = { token: as, device: as === token ? device.credentials.device : undefined }
  await act.see(`${method.name} of nothing, as ${who}`, async () => {
    await callSample(asDevice(transport, credentials), method)
    return "answered"
  })
}

/** Fields that break the contract's rules. */
const fields: Step = async (act) => {
  const { side, rng } = act
  const device = rng.pick(side.devices)
  const { conversations, devices, keyPackages, welcomes, attachments } = device.calls
  const id = rng.pick(["", "x", "cnv_", "cnv_80000000000000000000000000", device.id, device.userId])
  const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["getConversation", () => conversations.getConversation({ conversationId: id || "0" })],
    ["listConversations", () => conversations.listConversations({ pageSize: 201 })],
    ["appendMessage", () => conversations.appendMessage({ conversationId: side.conversations[0] ?? id })],
    [
      "authorizeMembership",
      () =>
        conversations.authorizeMembership({
          conversationId: side.conversations[0] ?? "0",
          baseStateTag: randomBytes(5),
        }),
    ],
    [
      "getTree",
      () => conversations.getTree({ conversationId: side.conversations[0] ?? "0", treeHash: "G".repeat(64) }),
    ],
    ["reportFork", () => conversations.reportFork({ conversationId: side.conversations[0] ?? "0" })],
    ["createConversation", () => conversations.createConversation({ idempotencyKey: randomBytes(3), claimId: id })],
    ["revokeDevice", () => devices.revokeDevice({ deviceId: id || "0" })],
    ["listDevices", () => devices.listDevices({ userId: id || "0", pageSize: 201 })],
    ["listDeviceLists", () => devices.listDeviceLists({ userId: device.userId, afterVersion: 2n ** 40n, limit: 21 })],
    ["uploadKeyPackages", () => keyPackages.uploadKeyPackages({ packages: [] })],
    ["claimKeyPackages", () => keyPackages.claimKeyPackages({ claimId: id, conversationId: id, userIds: [id, id] })],
    ["retireKeyPackages", () => keyPackages.retireKeyPackages({ keyPackageRefs: [randomBytes(31)] })],
    ["consumeWelcome", () => welcomes.consumeWelcome({ welcomeId: id || "0", idempotencyKey: randomBytes(15) })],
    ["uploadPart", () => attachments.uploadPart({ attachmentId: id || "0", index: 100, data: new Uint8Array() })],
  ]
  const [what, call] = rng.pick(calls)
  await act.see(`${what}, with fields that are none`, call)
}

export const hostile: Readonly<Record<string, readonly [number, Step]>> = {
  again: [6, again],
  bentCommits: [5, bentCommits],
  bentTexts: [2, bentTexts],
  staleProof: [2, staleProof],
  callProofs: [2, callProofs],
  samples: [4, samples],
  fields: [3, fields],
}
