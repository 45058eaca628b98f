// A service that authorizes another change than the one requested, with documents that its auth service has signed. The
// messenger never commits such a change.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import type { ConversationId } from "@signet/kernel/ids"
import { newId } from "@signet/kernel/ids"
import type { ProofFacts } from "@signet/kernel/messaging/authority"
import type { CreateConversationResponse } from "@signet/proto/messaging/v1/conversation_service"
import { AuthorizationSchema, type Conversation, ConversationKind } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Authorized } from "../../clients/core/messaging/checks/authorization.ts"
import { personOf } from "../../clients/core/messaging/checks/credential.ts"
import type { Context } from "../../clients/core/messaging/context.ts"
import type { Person } from "../../clients/core/messaging/events.ts"
import { membersOf, stateTag } from "../../clients/core/messaging/mls.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { newGroup } from "../../clients/core/messaging/sending/new-group.ts"
import { stageCommit } from "../../clients/core/messaging/sending/staging.ts"
import type { LocalGroup, StoredConversation } from "../../clients/core/messaging/state/stored-conversation.ts"
import { randomBytes } from "../support/messaging/device-parts.ts"
import { forgedKeyPackage } from "../support/messaging/forged.ts"
import { type HostileWorld, newKeyPackage, noEvidence, startHostileWorld } from "../support/messaging/hostile.ts"
import { messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"

let world: HostileWorld
let ben: OpenedMessenger
let context: Context
let id: string
let held: StoredConversation & { readonly local: LocalGroup }
beforeAll(async () => {
  world = await startHostileWorld()
  const messengers = messengersOn(world.server)
  ben = await messengers.newcomer("ben")
  id = (await world.ann.messenger.createGroupConversation([ben.person.userId, world.mallory.userId])).id
  context = (await openContext(...messengers.optionsFor(world.ann.person, world.ann))).context
  const { local, ...rest } = await context.conversation(id).stored()
  held = { ...rest, local: local ?? expect.fail("no local") }
})
afterAll(async () => {
  await ben?.messenger.close()
  await world?.close()
})

/** Returns a proof that the auth service signed without having decided on the change. */
async function proofOf(change: Partial<ProofFacts>): Promise<Uint8Array> {
  const { group } = held.local
  const { bytes } = await world.server.messaging.deps.authority.issueProof(
    {
      place: { appId: world.server.app.id, tenantId: null },
      conversationId: id as ConversationId,
      mlsGroupId: group.groupId,
      op: "REMOVE",
      baseEpoch: group.epoch,
      baseStateTag: stateTag(group),
      added: [],
      removed: [],
      requester: hash("device-credential", context.device.identity().credential),
      decisionId: newId("dcn", Date.now(), randomBytes(10)),
      issuedAtMs: Date.now(),
      policyVersion: 1n,
      ...change,
    },
    noEvidence,
  )
  return bytes
}

const credentialOf = (deviceId: string): Uint8Array => {
  const member = membersOf(held.local.group).find(({ credential }) => personOf(credential).deviceId === deviceId)
  return hash("device-credential", member?.credential ?? expect.fail("no member"))
}
const isBen = ({ userId }: Person) => userId === ben.person.userId
const isGhost = ({ userId }: Person) => userId === world.ghost.userId
const removing = async (deviceId: string, change: Partial<ProofFacts> = {}) => ({
  proof: await proofOf({ removed: [credentialOf(deviceId)], ...change }),
  removedDeviceIds: [deviceId],
})

/** Returns a service's answer that adds the ghost. */
async function adding(bend?: Parameters<typeof forgedKeyPackage>[2], change: Partial<ProofFacts> = {}) {
  const made = await newKeyPackage(world.ghost)
  const { identity } = world.ghost
  const keyPackage = bend ? await forgedKeyPackage(made.keyPackage, identity, bend) : made.keyPackage
  const { reference, credential } = await context.engine.inspectKeyPackage(keyPackage)
  const claimed = { deviceId: world.ghost.id, userId: world.ghost.userId, keyPackage, keyPackageRef: reference }
  const added = [{ credentialHash: hash("device-credential", credential), keyPackageRef: reference }]
  return {
    proof: await proofOf({ op: "ADD", added, ...change }),
    keyPackageRefs: [reference],
    claim: { keyPackages: [claimed], ticket: new Uint8Array(9) },
  }
}

type Answer = MessageInitShape<typeof AuthorizationSchema>
const stage = (does: Authorized["does"], isAsked: Authorized["isAsked"], answer: Answer) =>
  stageCommit(context.conversation(id), held, "an intent", {
    does,
    isAsked,
    authorization: create(AuthorizationSchema, answer),
  })

test("a requested change with a matching proof becomes a commit", async () => {
  expect((await stage("remove", isBen, await removing(ben.messenger.deviceId))).commit.length).toBeGreaterThan(100)
  expect((await stage("add", isGhost, await adding())).welcome.length).toBeGreaterThan(100)
})

const flipped = (bytes: Uint8Array): Uint8Array => {
  const copy = bytes.slice()
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1
  return copy
}
const withOtherCredential: Parameters<typeof forgedKeyPackage>[2] = ({ leafNode }) => {
  if (leafNode.credential.credentialType !== "basic") throw new Error("a basic credential")
  const identity = flipped(leafNode.credential.identity)
  return { leafNode: { ...leafNode, credential: { ...leafNode.credential, identity } } }
}
const benGoes = (change: Partial<ProofFacts> = {}) => removing(ben.messenger.deviceId, change)

test.each<[string, Authorized["does"], Authorized["isAsked"], () => Promise<Answer>]>([
  ["a proof that nobody signed", "remove", isBen, async () => bent(await benGoes())],
  ["a proof of another conversation", "remove", isBen, () => benGoes({ conversationId: aConversation() })],
  ["a proof of another group", "remove", isBen, () => benGoes({ mlsGroupId: new Uint8Array(32).fill(7) })],
  ["a proof of another epoch", "remove", isBen, () => benGoes({ baseEpoch: 99n })],
  ["a proof of another history", "remove", isBen, () => benGoes({ baseStateTag: randomBytes(32) })],
  ["a proof for another device to commit", "remove", isBen, () => benGoes({ requester: randomBytes(32) })],
  ["a proof that removes one more", "remove", isBen, () => benGoes({ removed: twoWhoGo() })],
  ["somebody else to be removed", "remove", isBen, () => removing(world.mallory.id)],
  ["somebody else than a directive says", "directive", isBen, () => removing(world.mallory.id)],
  ["somebody who is not in", "remove", isBen, async () => ({ ...(await benGoes()), removedDeviceIds: ["dev_none"] })],
  ["the one who asks to be removed", "remove", () => true, () => removing(context.device.id ?? "")],
  ["a removal of whom it was to add", "add", isBen, () => benGoes()],
  ["somebody to be added who was to be removed", "remove", isGhost, () => adding()],
  ["a reset that adds whom it was to add", "add", isGhost, () => adding(undefined, { op: "RESET" })],
  [
    "a removal, and somebody new beside it",
    "remove",
    () => true,
    async () => ({ ...(await benGoes()), ...(await adding()) }),
  ],
  ["somebody else to be added", "add", isBen, () => adding()],
  ["a key package whose credential nobody signed", "add", isGhost, () => adding(withOtherCredential)],
  [
    "a key package that the proof does not name",
    "add",
    isGhost,
    async () => ({ ...(await adding()), proof: (await adding()).proof }),
  ],
  ["a key package by another name", "add", isGhost, async () => renamed(await adding())],
  ["a key package by another reference", "add", isGhost, async () => referred(await adding())],
  ["nothing to be done", "add", isGhost, async () => ({ proof: (await adding()).proof })],
])("%s is refused", async (_, does, isAsked, answer) => {
  await expect(stage(does, isAsked, await answer())).rejects.toMatchObject({
    name: "MessagingError",
    reason: "ANSWER_REFUSED",
  })
})

const aConversation = () => newId("cnv", Date.now(), randomBytes(10))
const twoWhoGo = () => [ben.messenger.deviceId, world.mallory.id].map(credentialOf)
const bent = <Given extends { readonly proof: Uint8Array }>(answer: Given) => ({
  ...answer,
  proof: flipped(answer.proof),
})
const renamed = ({ claim, ...answer }: Awaited<ReturnType<typeof adding>>): Answer => ({
  ...answer,
  claim: { ...claim, keyPackages: claim.keyPackages.map((one) => ({ ...one, deviceId: ben.messenger.deviceId })) },
})

const referred = ({ claim, ...answer }: Awaited<ReturnType<typeof adding>>): Answer => {
  const keyPackageRef = randomBytes(32)
  const keyPackages = claim.keyPackages.map((one) => ({ ...one, keyPackageRef }))
  return { ...answer, keyPackageRefs: [keyPackageRef], claim: { ...claim, keyPackages } }
}

test("a claimed key package that the proof does not name is not added", async () => {
  const [asked, more] = [await adding(), await adding()]
  const claim = { ...asked.claim, keyPackages: [...asked.claim.keyPackages, ...more.claim.keyPackages] }
  const { welcome } = await stage("add", isGhost, { ...asked, claim })
  const within = (part: Uint8Array | undefined) =>
    Buffer.from(welcome).includes(Buffer.from(part ?? expect.fail("no reference")))
  expect([asked, more].map(({ keyPackageRefs: [reference] }) => within(reference))).toEqual([true, false])
})

test("only a proof of a creation starts a group", async () => {
  const at = { conversationId: id, mlsGroupId: held.local.group.groupId, isDirect: false, epoch: 0n, processedSeq: 0n }
  const begun = { ...held, local: await newGroup(context, at) }
  const begin = async (change: Partial<ProofFacts>) => {
    const facts = { baseEpoch: 0n, baseStateTag: stateTag(begun.local.group), ...change }
    const authorization = create(AuthorizationSchema, await adding(undefined, facts))
    return stageCommit(context.conversation(id), begun, "an intent", { does: "add", isAsked: isGhost, authorization })
  }
  expect((await begin({ op: "CREATE", baseStateTag: null })).welcome.length).toBeGreaterThan(100)
  await expect(begin({})).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
})

test.each<[string, (made: Conversation) => object]>([
  ["another app", () => ({ appId: newId("app", Date.now(), randomBytes(10)) })],
  ["another tenant", () => ({ tenantId: newId("ten", Date.now(), randomBytes(10)) })],
  ["another kind", () => ({ kind: ConversationKind.DIRECT })],
  ["a group that is not named after it", () => ({ mlsGroupId: randomBytes(32) })],
  ["a group with half a name", ({ mlsGroupId }) => ({ mlsGroupId: mlsGroupId.subarray(0, 16) })],
])("a conversation of %s is not the one that was asked for", async (_, change) => {
  const { transport, ann } = world
  transport.bend = {
    method: "CreateConversation",
    answer(truth) {
      const { conversation } = truth as CreateConversationResponse
      if (conversation !== undefined) Object.assign(conversation, change(conversation))
    },
  }
  const before = await ann.store.spaces()
  const making = ann.messenger.createGroupConversation([ben.person.userId])
  await expect(making).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
  transport.bend = undefined
  expect(await ann.store.spaces()).toEqual(before)
})

test("a new group gets its conversation's id, even with a proof for another id", async () => {
  const { transport, ann } = world
  const mlsGroupId = randomBytes(32)
  transport.bend = {
    method: "CreateConversation",
    async answer(truth) {
      const { conversation, authorization } = truth as CreateConversationResponse
      const claimed = authorization?.claim?.keyPackages ?? []
      const looked = claimed.map(({ keyPackage }) => context.engine.inspectKeyPackage(keyPackage))
      const added = (await Promise.all(looked)).map(({ credential, reference }) => ({
        credentialHash: hash("device-credential", credential),
        keyPackageRef: reference,
      }))
      const creates = { op: "CREATE", baseEpoch: 0n, baseStateTag: null } as const
      const of = { conversationId: conversation?.id as ConversationId, mlsGroupId, added }
      Object.assign(authorization ?? {}, { proof: await proofOf({ ...creates, ...of }) })
      Object.assign(conversation ?? {}, { mlsGroupId })
    },
  }
  const before = await ann.store.spaces()
  const making = ann.messenger.createGroupConversation([ben.person.userId])
  await expect(making).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
  transport.bend = undefined
  expect(await ann.store.spaces()).toEqual(before)
})

test("a direct conversation is with the requested user, whatever the service returns", async () => {
  const { transport, ann, mallory } = world
  const userIds = [ann.person.userId, mallory.userId]
  transport.bend = {
    method: "CreateConversation",
    answer: (truth) => Object.assign((truth as CreateConversationResponse).conversation ?? {}, { userIds }),
  }
  const making = ann.messenger.createDirectConversation(ben.person.userId)
  await expect(making).rejects.toMatchObject({ name: "MessagingError", reason: "ANSWER_REFUSED" })
  transport.bend = undefined
})
