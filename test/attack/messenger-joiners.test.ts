// A hostile service and a hostile member forge a complete welcome: every document has a valid signature, and one thing
// is wrong.
import { create } from "@bufbuild/protobuf"
import { buildConversationBinding } from "@signet/canonical/conversation-binding"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { hash } from "@signet/canonical/hash"
import { type ConversationId, idOf, newId } from "@signet/kernel/ids"
import type { CredentialFacts, ProofFacts, ReceiptFacts } from "@signet/kernel/messaging/authority"
import { ConversationKind as BoundKind, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import {
  type Conversation,
  ConversationKind,
  type Envelope,
  Envelope_Kind,
  EnvelopeSchema,
  type Welcome,
  WelcomeSchema,
} from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { stateTag, uncheckedEngine } from "../../clients/core/messaging/mls.ts"
import { sample } from "../support/effort.ts"
import {
  bytesOf,
  engine,
  hexOf,
  newLeafKey,
  nowSeconds,
  randomBytes,
  suite,
} from "../support/messaging/device-parts.ts"
import { type HostileWorld, noEvidence, startHostileWorld } from "../support/messaging/hostile.ts"

let world: HostileWorld
let conversation: Conversation
let anns: { readonly keyPackage: Uint8Array; readonly keyPackageRef: Uint8Array; readonly credential: Uint8Array }
beforeAll(async () => {
  world = await startHostileWorld()
})
afterAll(() => world?.close())
beforeEach(async () => {
  world.transport.invent = undefined
  const { mallory, ann } = world
  const answer = await mallory.create({ case: "group", value: { userIds: [ann.person.userId] } })
  conversation = answer.conversation ?? expect.fail("not created")
  const [claimed] = answer.authorization?.claim?.keyPackages ?? []
  const { keyPackage, keyPackageRef } = claimed ?? expect.fail("no key package")
  const { credential } = await engine.inspectKeyPackage(keyPackage)
  anns = { keyPackage, keyPackageRef, credential }
})

const other = randomBytes(32)

/** The fault in a welcome. */
interface Fault {
  readonly proof?: (facts: ProofFacts) => Partial<ProofFacts>
  /** Replaces the proof in the commit's AAD or in the GroupInfo. */
  readonly proofInAad?: Uint8Array
  readonly proofInGroupInfo?: Uint8Array
  readonly receipt?: (facts: ReceiptFacts) => Partial<ReceiptFacts>
  readonly envelope?: (envelope: Envelope) => Partial<Envelope>
  readonly welcome?: (welcome: Welcome) => Partial<Welcome>
  readonly binding?: Partial<Parameters<typeof buildConversationBinding>[0]>
  readonly groupId?: Uint8Array
  /** The epoch before the commit that adds Ann; 0 if absent. */
  readonly baseEpoch?: bigint
  readonly chunk?: (tree: Uint8Array) => { readonly chunk: Uint8Array; readonly size: number }
  readonly groupInfo?: (shown: Uint8Array) => Uint8Array
  readonly shownEpoch?: bigint
  /** How the third member's credential differs from a valid one, and whether the proof names that member as added. */
  readonly third?: (facts: CredentialFacts) => Partial<CredentialFacts>
  readonly isThirdNamed?: boolean
}

const subject = (credential: Uint8Array, keyPackageRef: Uint8Array) => ({
  credentialHash: hash("device-credential", credential),
  keyPackageRef,
})

const minute = 60_000
/** An engine without checks: it lets a hostile member put one device at two leaves. */
const blind = uncheckedEngine({ suite, nowSeconds, deviceOf: hexOf })

/** Returns a key package of the ghost's, with a credential that has a change. */
async function thirdPackage(change: (facts: CredentialFacts) => Partial<CredentialFacts>) {
  const { ghost, server } = world
  const { publicKey, seed } = newLeafKey()
  const facts: CredentialFacts = {
    place: { appId: server.app.id, tenantId: null },
    userId: idOf("prn", bytesOf("prn", ghost.userId)),
    deviceId: idOf("dev", bytesOf("dev", ghost.id)),
    leafKey: publicKey,
    serial: 9n,
    notBeforeMs: Date.now() - 10 * minute,
    notAfterMs: Date.now() + 60 * minute,
    flags: 0,
  }
  const issued = { ...facts, ...change(facts) }
  const { bytes: credential } = await server.messaging.deps.authority.issueCredential(issued, new Uint8Array())
  const life = { notBefore: nowSeconds() - 3_600, notAfter: nowSeconds() + 86_400 }
  const made = await engine.newKeyPackage({ credential, signatureKey: publicKey, key: seed }, life)
  return { ...subject(credential, made.reference), keyPackage: made.keyPackage }
}

/** Sets the service's answers to Ann's request for her welcomes. */
async function madeUp(fault: Fault): Promise<void> {
  const { mallory, server, transport } = world
  const { authority, signReceipt } = server.messaging.deps
  const id = conversation.id as ConversationId
  const { groupId = conversation.mlsGroupId, baseEpoch = 0n } = fault
  const binding = buildConversationBinding({
    appId: mallory.place.appId,
    tenantId: undefined,
    conversationId: bytesOf("cnv", id),
    kind: BoundKind.GROUP,
    ...fault.binding,
  })
  const life = { notBefore: 0, notAfter: 4_000_000_000 }
  const before = await engine.createGroup({ groupId, identity: mallory.identity, binding, epoch: baseEpoch, ...life })
  const third = fault.third && (await thirdPackage(fault.third))
  const named = fault.isThirdNamed && third ? [third] : []
  const facts: ProofFacts = {
    place: { appId: server.app.id, tenantId: null },
    conversationId: id,
    mlsGroupId: groupId,
    op: "CREATE",
    baseEpoch,
    baseStateTag: null,
    added: [subject(anns.credential, anns.keyPackageRef), ...named],
    removed: [],
    requester: hash("device-credential", mallory.identity.credential),
    decisionId: newId("dcn", Date.now(), randomBytes(10)),
    issuedAtMs: Date.now(),
    policyVersion: 1n,
  }
  const { bytes: proof } = await authority.issueProof({ ...facts, ...fault.proof?.(facts) }, noEvidence)
  const aad = buildEnvelopeAad({
    conversationId: bytesOf("cnv", id),
    kind: EnvelopeKind.COMMIT,
    membershipProof: fault.proofInAad ?? proof,
  })
  const staged = await blind.add(before, [anns.keyPackage, ...(third ? [third.keyPackage] : [])], {
    aad,
    proof: fault.proofInGroupInfo ?? proof,
  })
  const { commit, welcome: bytes = expect.fail("no welcome") } = staged
  const tree = staged.tree()
  const groupInfo = fault.groupInfo?.(staged.groupInfo) ?? staged.groupInfo
  const told: ReceiptFacts = {
    conversationId: id,
    mlsGroupId: groupId,
    epoch: baseEpoch,
    seq: 1n,
    commitHash: hash("commit", commit),
    proofHash: hash("membership-proof", proof),
    groupInfoHash: hash("group-info", groupInfo),
    treeBlobHash: hash("tree-blob", tree),
    previousReceiptHash: baseEpoch === 0n ? null : other,
    acceptedAtMs: Date.now(),
    resultingStateTag: stateTag(staged.next),
  }
  const receipt = signReceipt({ ...told, ...fault.receipt?.(told) }).bytes
  const envelope = create(EnvelopeSchema, {
    ...{
      seq: 1n,
      epoch: baseEpoch,
      kind: Envelope_Kind.COMMIT,
      message: commit,
      contentHash: told.commitHash,
      receipt,
    },
    senderDeviceId: mallory.id,
  })
  const welcome = create(WelcomeSchema, {
    id: newId("wel", Date.now(), randomBytes(10)),
    conversationId: id,
    mlsGroupId: groupId,
    conversationKind: ConversationKind.GROUP,
    ...{ epoch: baseEpoch + 1n, commitSeq: 1n, keyPackageRef: anns.keyPackageRef, welcome: bytes, receipt, proof },
    treeHash: hexOf(hash("tree-blob", tree)),
    adderDeviceId: mallory.id,
  })
  const answers: Record<string, object> = {
    ListWelcomes: { welcomes: [Object.assign(welcome, fault.welcome?.(welcome))], nextPageToken: "" },
    ListMessages: { envelopes: [Object.assign(envelope, fault.envelope?.(envelope))], headSeq: 1n },
    GetTree: fault.chunk?.(tree) ?? { chunk: tree, size: tree.length },
    GetGroupInfo: { groupInfo, epoch: fault.shownEpoch ?? 1n },
    ConsumeWelcome: {},
    ListConversations: { conversations: [], nextPageToken: "" },
    ReportFork: {},
  }
  transport.invent = (method) => answers[method]
}

/** Returns the result for Ann: "joined", or the reason and the code of the refusal. */
async function joining(fault: Fault): Promise<string> {
  await madeUp(fault)
  const { messenger } = world.ann
  const failures: unknown[] = []
  const stop = messenger.subscribe((event) => {
    if (event.is === "failed" && event.conversationId === conversation.id) failures.push(event.error)
  })
  await messenger.sync()
  stop()
  const status = (await messenger.conversation(conversation.id))?.status
  if (status !== undefined) return failures.length === 0 ? "joined" : `joined as ${status}`
  const [error] = failures as { reason?: string; message?: string }[]
  return error?.message ?? "nothing"
}

test("a valid welcome is accepted", async () => {
  expect(await joining({})).toBe("joined")
})

test("an existing member's credential may have expired", async () => {
  expect(await joining({ third: () => ({ notAfterMs: Date.now() - minute }) })).toBe("joined")
  expect(await joining({ third: () => ({}), isThirdNamed: true })).toMatch("joined")
})

test("a welcome to a later epoch is accepted: the committer of that epoch has compared the GroupInfo", async () => {
  expect(await joining({ shownEpoch: 2n, receipt: () => ({ groupInfoHash: other }) })).toBe("joined")
})

test.each(
  sample<[string, Fault, string | RegExp]>(12, [
    [
      "by somebody else than its proof says",
      { proof: () => ({ requester: hash("device-credential", world.ghost.identity.credential) }) },
      "another member than the proof names added this device",
    ],
    [
      "with a proof for another key package of this device",
      { proof: () => ({ added: [subject(anns.credential, other)] }) },
      "the proof does not name this device",
    ],
    [
      "with a proof for another device",
      { proof: () => ({ added: [subject(world.ghost.identity.credential, anns.keyPackageRef)] }) },
      "the proof does not name this device",
    ],
    ["with another proof in its commit", { proofInAad: randomBytes(200) }, "commit and welcome have different proofs"],
    ["with another proof in its group", { proofInGroupInfo: other }, "commit and welcome have different proofs"],
    ["with a proof of another group", { proof: () => ({ mlsGroupId: other }) }, "PROOF_WRONG_GROUP"],
    ["with a proof of another epoch", { proof: () => ({ op: "ADD", baseEpoch: 1n, baseStateTag: other }) }, /PROOF_/],
    [
      "with a reset of a group",
      { baseEpoch: 1n, proof: () => ({ op: "RESET", baseStateTag: other }) },
      "only a direct conversation is reset",
    ],
    ["into another conversation's group", { groupId: other }, "a welcome of another group or epoch"],
    [
      "that names another group",
      {
        welcome: ({ mlsGroupId }) => ({
          mlsGroupId: Uint8Array.of(...mlsGroupId.subarray(0, 16), ...other.subarray(16)),
        }),
      },
      "a welcome of another group or epoch",
    ],
    ["that names another epoch", { welcome: () => ({ epoch: 2n }) }, "a welcome of another group or epoch"],
    ["bound to another conversation", { binding: { conversationId: other.subarray(16) } }, /BINDING_/],
    ["bound as a direct conversation", { binding: { kind: BoundKind.DIRECT } }, /BINDING_/],
    ["bound to another app", { binding: { appId: other.subarray(16) } }, /BINDING_/],
    ["bound to a tenant", { binding: { tenantId: other.subarray(16) } }, /BINDING_/],
    [
      "whose place has a message",
      { envelope: () => ({ kind: Envelope_Kind.APPLICATION }) },
      "the commit of the welcome is not in the log",
    ],
    ["whose place is another's", { envelope: () => ({ seq: 2n }) }, "the commit of the welcome is not in the log"],
    ["with a receipt for another group", { receipt: () => ({ mlsGroupId: other }) }, /RECEIPT_/],
    ["with a receipt for another epoch", { receipt: () => ({ epoch: 1n, previousReceiptHash: other }) }, /RECEIPT_/],
    ["with a receipt for another place", { receipt: () => ({ seq: 2n }) }, /RECEIPT_/],
    ["with a receipt for another commit", { receipt: () => ({ commitHash: other }) }, /RECEIPT_/],
    ["with a receipt for another proof", { receipt: () => ({ proofHash: other }) }, /RECEIPT_/],
    ["with a receipt for another state", { receipt: () => ({ resultingStateTag: other }) }, /STATE_TAG_DIFFERS/],
    ["with a receipt of tomorrow", { receipt: () => ({ acceptedAtMs: Date.now() + 86_400_000 }) }, /RECEIPT_|clock/],
    [
      "with a receipt for another GroupInfo than is shown",
      { receipt: () => ({ groupInfoHash: other }) },
      /GROUP_INFO_DIFFERS/,
    ],
    [
      "with a GroupInfo, and a receipt for it, that are of another group",
      { groupInfo: (shown) => shown.with(60, (shown[60] ?? 0) ^ 1) },
      /GROUP_INFO_DIFFERS/,
    ],
    [
      "with a member whose credential is for another key",
      { third: () => ({ leafKey: newLeafKey().publicKey }) },
      /CRED_/,
    ],
    [
      "with a member of another app",
      { third: () => ({ place: { appId: idOf("app", randomBytes(16)), tenantId: null } }) },
      /CRED_WRONG_APP/,
    ],
    [
      "with a newcomer whose credential has ended",
      { third: () => ({ notAfterMs: Date.now() - minute }), isThirdNamed: true },
      /CRED_EXPIRED/,
    ],
    [
      "with two leaves of one device",
      { third: () => ({ deviceId: idOf("dev", bytesOf("dev", world.mallory.id)) }) },
      "MLS_BAD_TREE",
    ],
    [
      "of two people with a third",
      {
        welcome: () => ({ conversationKind: ConversationKind.DIRECT }),
        binding: { kind: BoundKind.DIRECT },
        third: () => ({}),
      },
      "THIRD_USER",
    ],
    ["whose tree is empty", { chunk: () => ({ chunk: new Uint8Array(), size: 1 }) }, "the tree is incomplete"],
    ["whose tree is too large", { chunk: (tree) => ({ chunk: tree, size: 4_194_305 }) }, "the tree is incomplete"],
    [
      "whose tree is another one",
      { chunk: (tree) => ({ chunk: tree.with(20, (tree[20] ?? 0) ^ 1), size: tree.length }) },
      "the tree is not the one that the welcome names",
    ],
    [
      "whose tree never ends",
      { chunk: (tree) => ({ chunk: tree.subarray(0, 1), size: 4_000_000 }) },
      "the tree is incomplete",
    ],
  ]),
)("a welcome %s is refused", async (_, fault, expected) => {
  expect(await joining(fault)).toMatch(expected)
})
