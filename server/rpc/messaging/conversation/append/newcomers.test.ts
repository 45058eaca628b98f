// The checks of added devices: a valid tree, tickets and Welcome, and one defect in each.
import { randomBytes } from "node:crypto"
import { issueClaimTicket } from "@signet/canonical/claim-ticket"
import { issuerIdOf } from "@signet/canonical/hash"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import { Refused } from "@signet/kernel/errors"
import { type DeviceId, idBytes, idOf } from "@signet/kernel/ids"
import type { Leaf } from "@signet/kernel/messaging/records"
import { bytes, conversation, device, messagingDevice, nowMs, user } from "@signet/kernel/messaging/testing/records"
import { beforeAll, expect, test } from "vitest"
import { keyPackageRef, parseKeyPackage } from "../../../../framing/key-package.ts"
import type { LeafNode } from "../../../../framing/leaf-node.ts"
import { type Recording, recordSmall } from "../../../../framing/testing/recording.ts"
import { parseTree, type RatchetTree } from "../../../../framing/tree.ts"
import { treeHash } from "../../../../framing/tree-hash.ts"
import { issuer, newTestIssuer } from "../../testing/test-issuer.ts"
import type { AddedLeaf } from "./change.ts"
import type { CallJudge } from "./judge.ts"
import { checkTree, credentialHashOf } from "./tree.ts"
import { checkTickets, welcomesFor } from "./welcomes.ts"

/** The reason of a refusal, with its message where several share the reason. */
function refusal(check: () => unknown): string {
  try {
    check()
    return "taken"
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return error.reason === "GROUP_INFO_MISMATCH" ? error.message : error.reason
  }
}

let recording: Recording
let keys: Awaited<ReturnType<typeof newTestIssuer>>
let judge: CallJudge
/** The devices that the first commit adds. */
let added: readonly AddedLeaf[]
let welcome: Uint8Array
beforeAll(async () => {
  recording = await recordSmall()
  keys = await newTestIssuer({ bytes: (length) => new Uint8Array(randomBytes(length)) }, nowMs)
  judge = {
    conversation,
    begins: null,
    device: messagingDevice(10),
    issuerKeys: keys.issuerKeys,
    verify: nodeVerify,
    nowMs,
    tree: undefined,
    newWelcomeId: () => idOf("wel", new Uint8Array(randomBytes(16))),
  }
  const [first] = recording.commits
  welcome = first?.staged.welcome ?? expect.fail("no welcome")
  added = (first?.keyPackages ?? []).map((one, i) => {
    const keyPackage = parseKeyPackage(one)
    const credentialHash = credentialHashOf(keyPackage.leafNode)
    const who = { deviceId: device(20 + i), userId: user(2) }
    return { ...who, credentialHash, keyPackage, keyPackageRef: keyPackageRef(keyPackage) }
  })
})

interface Ticketed {
  readonly deviceId: DeviceId
  readonly credentialHash: Uint8Array
  readonly keyPackageRef: Uint8Array
}

function ticketFor(packages: readonly Ticketed[]): Uint8Array {
  return issueClaimTicket(
    {
      issuerId: issuerIdOf(issuer),
      appId: idBytes(conversation.appId),
      claimId: bytes(7, 16),
      conversationId: idBytes(conversation.id),
      requesterDeviceId: idBytes(judge.device.id),
      packages: packages.map((one) => ({ ...one, deviceId: idBytes(one.deviceId) })),
      issuedAt: BigInt(Math.floor(nowMs / 1_000)),
    },
    keys.signer("RECEIPT"),
  )
}

test("added devices need tickets for their packages, in one ticket or several", () => {
  const [first, ...others] = added
  if (first === undefined) return expect.fail("nobody is added")
  expect(refusal(() => checkTickets(judge, added, [ticketFor(added)]))).toBe("taken")
  expect(refusal(() => checkTickets(judge, added, [ticketFor([first]), ticketFor(others)]))).toBe("taken")
  expect(refusal(() => checkTickets(judge, added, [ticketFor(others)]))).toBe("KEY_PACKAGE_NOT_CLAIMED")
})

test.each<[string, (one: AddedLeaf) => Partial<Ticketed>]>([
  ["package", () => ({ keyPackageRef: bytes(1) })],
  ["device", () => ({ deviceId: device(99) })],
  ["credential", () => ({ credentialHash: bytes(1) })],
])("a ticket for another %s adds no device", (_, change) => {
  const [first, ...others] = added
  if (first === undefined) return expect.fail("nobody is added")
  const ticket = ticketFor([{ ...first, ...change(first) }, ...others])
  expect(refusal(() => checkTickets(judge, added, [ticket]))).toBe("KEY_PACKAGE_NOT_CLAIMED")
})

test("each added device has one part of the Welcome, and no other device has one", () => {
  const parts = welcomesFor(judge, added, welcome)
  expect(parts.map(({ deviceId, keyPackageRef: ref }) => [deviceId, ref])).toEqual(
    added.map(({ deviceId, keyPackageRef: ref }) => [deviceId, ref]),
  )
  expect(refusal(() => welcomesFor(judge, added.slice(1), welcome))).toBe("WELCOME_RECIPIENT_MISMATCH")
  const strange = added.map((one, i) => (i === 0 ? { ...one, keyPackageRef: bytes(1) } : one))
  expect(refusal(() => welcomesFor(judge, strange, welcome))).toBe("WELCOME_RECIPIENT_MISMATCH")
  expect(refusal(() => welcomesFor(judge, [], welcome))).toBe("WELCOME_RECIPIENT_MISMATCH")
  expect(refusal(() => welcomesFor(judge, added, new Uint8Array()))).toBe("WELCOME_RECIPIENT_MISMATCH")
  expect(welcomesFor(judge, [], new Uint8Array())).toEqual([])
})

const leafOf = (leafIndex: number, node: LeafNode): Leaf => ({
  leafIndex,
  deviceId: device(10 + leafIndex),
  userId: user(1),
  credentialHash: credentialHashOf(node),
  joinedEpoch: 1n,
})

const rosterOf = ({ leaves }: RatchetTree) => [...leaves].map(([leafIndex, node]) => leafOf(leafIndex, node))

test("a tree has the leaves of the roster, with the commit's bytes", () => {
  const tree = parseTree(recording.commits[0]?.tree ?? expect.fail("no tree"))
  const hash = treeHash(tree)
  const roster = rosterOf(tree)
  const known = new Map<string, LeafNode>()
  const check = (of: readonly Leaf[], from = known, named = hash) => refusal(() => checkTree(tree, named, of, from))
  expect(check(roster)).toBe("taken")
  expect(check(roster, known, bytes(1))).toBe("the tree does not match tree_hash in the GroupInfo")
  expect(check(roster.slice(1))).toBe("GHOST_MEMBER")
  expect(check(roster.map((leaf, i) => (i === 1 ? { ...leaf, credentialHash: bytes(1) } : leaf)))).toBe("GHOST_MEMBER")
  expect(check([...roster, { ...(roster[0] ?? expect.fail("nobody")), leafIndex: 99 }])).toBe(
    "a member is missing in the tree",
  )
})

test("a leaf of the commit equals the tree's leaf byte for byte", () => {
  const tree = parseTree(recording.commits[0]?.tree ?? expect.fail("no tree"))
  const [, leaf] = [...tree.leaves][1] ?? expect.fail("nobody")
  const name = Buffer.from(credentialHashOf(leaf)).toString("hex")
  const check = (brought: LeafNode) =>
    refusal(() => checkTree(tree, treeHash(tree), rosterOf(tree), new Map([[name, brought]])))
  expect(check(leaf)).toBe("taken")
  expect(check({ ...leaf, bytes: Uint8Array.of(...leaf.bytes, 0) })).toBe(
    "the tree and the commit have different leaves for a device",
  )
})
