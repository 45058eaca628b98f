import type { Node } from "ts-mls/ratchetTree.js"
import type { Sender } from "ts-mls/sender.js"
import type { UpdatePath } from "ts-mls/updatePath.js"
import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { equal, utf8 } from "../crypto/bytes.ts"
import { decoded } from "../testing/bare-seat.ts"
import { roomOf } from "../testing/cast.ts"
import { forgeCommit, testKit } from "../testing/forge.ts"
import { type OurSeat, ourSeat } from "../testing/our-seat.ts"
import { stageAdd, stageUpdate } from "./commit.ts"
import type { Kit } from "./kit.ts"
import { closed, opened } from "./state.ts"
import { type Tree, treeHash } from "./tree.ts"
import { checkTree } from "./tree-check.ts"

// Malicious members: they have all keys of a member and violate the protocol.

const suite = makeNodeSuite()
const aad = utf8("")
const accept = () => "accept" as const

const pathOf = async (seat: OurSeat) => pathIn((await seat.engine.update(seat.current(), { aad })).commit)

function pathIn(commit: Uint8Array): UpdatePath {
  const message = decoded(commit)
  if (message.wireformat !== "mls_public_message" || message.publicMessage.content.contentType !== "commit") {
    throw new Error("not a commit")
  }
  return message.publicMessage.content.commit.path ?? fail("no path")
}

function fail(what: string): never {
  throw new Error(what)
}

test.each<
  [string, (path: UpdatePath, room: Awaited<ReturnType<typeof roomOf>>) => UpdatePath | Promise<UpdatePath>, string]
>([
  [
    "whose keys contradict the leaf's parent hash",
    (path) => ({ ...path, nodes: path.nodes.map((node) => ({ ...node, hpkePublicKey: suite.random(32) })) }),
    "the parent hash of the leaf",
  ],
  ["that is too short", (path) => ({ ...path, nodes: path.nodes.slice(1) }), "not the length"],
  [
    "that is too long",
    ({ leafNode, nodes }) => ({
      leafNode,
      nodes: [...nodes, { hpkePublicKey: suite.random(32), encryptedPathSecret: [] }],
    }),
    "not the length",
  ],
  [
    "that omits a recipient",
    (path) => ({ ...path, nodes: path.nodes.map((node) => ({ ...node, encryptedPathSecret: [] })) }),
    "not one ciphertext for each recipient",
  ],
  [
    "whose secrets cannot be decrypted",
    ({ leafNode, nodes }) => ({
      leafNode,
      nodes: nodes.map(({ hpkePublicKey, encryptedPathSecret }) => ({
        hpkePublicKey,
        encryptedPathSecret: encryptedPathSecret.map(({ kemOutput }) => ({ kemOutput, ciphertext: suite.random(48) })),
      })),
    }),
    "does not decrypt",
  ],
  [
    "that repeats a key",
    ({ leafNode, nodes }) => ({
      leafNode,
      nodes: nodes.map((node) => ({ ...node, hpkePublicKey: leafNode.hpkePublicKey })),
    }),
    "in use already",
  ],
  [
    "with a key of the tree",
    (path, { seat }) => {
      const node = opened(seat("B").current()).tree.nodes[2]
      const hpkePublicKey = node?.nodeType === "leaf" ? node.leaf.hpkePublicKey : fail("no leaf")
      return { ...path, nodes: path.nodes.map((step, i) => (i === 0 ? { ...step, hpkePublicKey } : step)) }
    },
    "in use already",
  ],
  [
    "with a key of 31 bytes",
    (path) => ({ ...path, nodes: path.nodes.map((node) => ({ ...node, hpkePublicKey: suite.random(31) })) }),
    "has 32 bytes",
  ],
  [
    "to the signature key of another member, who lends it",
    async (_, { seat }) => {
      const [a, c] = [seat("A"), seat("C")]
      const identity = { ...c.identity, credential: utf8("A#2") }
      return pathIn((await a.engine.update(a.current(), { aad, identity })).commit)
    },
    "belongs to another member",
  ],
  [
    "to another device, with its own key",
    async (_, { seat }) => {
      const { current, identity } = seat("A")
      const other = { ...identity, credential: utf8("Z") }
      const kit = { ...testKit(suite), deviceOf: () => "whichever" }
      return pathIn((await stageUpdate(kit, current(), { aad, identity: other })).commit)
    },
    "cannot move",
  ],
  ["made for another leaf", (_, { seat }) => pathOf(seat("C")), "not signed by its own key"],
])("a path %s is refused", async (_, bend, why) => {
  const cast = await roomOf(suite, "A", "B", "C", "D")
  const path = await bend(await pathOf(cast.seat("A")), cast)
  const commit = await forgeCommit(suite, cast.seat("A").current(), { path })
  const b = cast.seat("B")
  await expect(b.engine.process(b.current(), commit, accept)).rejects.toThrow(why)
})

test.each<[Sender]>([[{ senderType: "new_member_commit" }], [{ senderType: "external", senderIndex: 0 }]])(
  "a commit from the sender %j is refused, with any signature",
  async (sender) => {
    const { seat } = await roomOf(suite, "A", "B")
    const commit = await forgeCommit(suite, seat("A").current(), { path: await pathOf(seat("A")), sender })
    const followed = seat("B").engine.process(seat("B").current(), commit, accept)
    await expect(followed).rejects.toThrow("only members commit")
  },
)

test("a member that gets another path secret than the others refuses the path", async () => {
  const { seat } = await roomOf(suite, "A", "B", "C", "D")
  const honest = testKit(suite)
  const victim = opened(seat("B").current()).tree.nodes[2]
  const victimKey = victim?.nodeType === "leaf" ? victim.leaf.hpkePublicKey : fail("no leaf")
  const kit: Kit = {
    ...honest,
    hpke: {
      ...honest.hpke,
      seal: (key, info, secret) => honest.hpke.seal(key, info, equal(key, victimKey) ? suite.random(32) : secret),
    },
  }
  const { commit } = await stageUpdate(kit, seat("A").current(), { aad })
  expect((await seat("C").engine.process(seat("C").current(), commit, accept)).kind).toBe("next")
  const told = seat("B").engine.process(seat("B").current(), commit, accept)
  await expect(told).rejects.toThrow("does not belong to its public key")
})

test("a path secret of another length is refused", async () => {
  const { seat } = await roomOf(suite, "A", "B", "C", "D")
  const honest = testKit(suite)
  const kit: Kit = {
    ...honest,
    hpke: { ...honest.hpke, seal: (key, info, secret) => honest.hpke.seal(key, info, secret.subarray(1)) },
  }
  const { commit } = await stageUpdate(kit, seat("A").current(), { aad })
  await expect(seat("B").engine.process(seat("B").current(), commit, accept)).rejects.toThrow("a path secret has 32")
})

/** A tree without blank nodes: A to F, with updates from both halves, and F unmerged. */
async function seasoned() {
  const cast = await roomOf(suite, "A", "B", "C", "D", "E")
  for (const by of ["E", "C", "A"]) await cast.room.update(by)
  await cast.room.add("B", [await ourSeat(suite, "F")])
  return cast
}

/** The tree's nodes; leaves are at even indices. */
type Nodes = (Node | undefined)[]

const bendParent = (nodes: Nodes, index: number, change: object) =>
  nodes.map((node, at): Node | undefined =>
    at === index && node?.nodeType === "parent" ? { ...node, parent: { ...node.parent, ...change } } : node,
  )

const bendLeaf = (nodes: Nodes, leaf: number, change: object) =>
  nodes.map((node, at): Node | undefined =>
    at === leaf * 2 && node?.nodeType === "leaf" ? { ...node, leaf: { ...node.leaf, ...change } } : node,
  )

test.each<[string, (nodes: Nodes) => Nodes, string]>([
  ["as it is", (nodes) => nodes, "nothing"],
  [
    "with a forged parent key",
    (nodes) => bendParent(nodes, 3, { hpkePublicKey: suite.random(32) }),
    "valid parent hash",
  ],
  ["with a random parent hash", (nodes) => bendParent(nodes, 1, { parentHash: suite.random(32) }), "valid parent hash"],
  ["that hides an unmerged leaf", (nodes) => bendParent(nodes, 7, { unmergedLeaves: [] }), "valid parent hash"],
  ["with an unmerged leaf that is blank", (nodes) => bendParent(nodes, 7, { unmergedLeaves: [5, 7] }), "member below"],
  [
    "with an unmerged leaf outside its subtree",
    (nodes) => bendParent(nodes, 3, { unmergedLeaves: [5] }),
    "member below",
  ],
  ["with unmerged leaves in disorder", (nodes) => bendParent(nodes, 7, { unmergedLeaves: [5, 5] }), "ascend"],
  ["with two leaves of one device", (nodes) => bendLeaf(nodes, 3, credential("B")), "appears twice"],
  ["with another credential in a leaf", (nodes) => bendLeaf(nodes, 5, credential("Z")), "by its own key"],
  [
    "with a leaf that does not support the suite",
    (nodes) => bendLeaf(nodes, 5, able(nodes, { ciphersuites: [] })),
    "the cipher suite",
  ],
  [
    "with a leaf of 33 capabilities",
    (nodes) => bendLeaf(nodes, 5, able(nodes, { proposals: new Array(33 - 5).fill(0x1a1a) })),
    "than a leaf may have",
  ],
])("a tree %s is checked by joiners", async (_, bend, why) => {
  const { seat } = await seasoned()
  const inside = opened(seat("A").current())
  const bent = closed({ ...inside, tree: { nodes: bend(inside.tree.nodes), hashes: [] } })
  const joining = await ourSeat(suite, "G")
  const keyPackage = await joining.keyPackage()
  // A does not check its own forged tree before it signs it.
  const staged = await stageAdd({ ...testKit(suite), deviceOf: any() }, bent, [keyPackage], { aad })
  const joined = joining.join(staged.welcome ?? fail("no welcome"), staged.tree())
  if (why === "nothing") await joined
  else await expect(joined).rejects.toThrow(why)
})

test.each<[string, (nodes: Nodes) => Nodes, string]>([
  ["with a key in two nodes", (nodes) => bendParent(nodes, 3, keyOf(nodes, 4)), "appears twice"],
  [
    "with a leaf at the index of a parent",
    (nodes) => nodes.map((node, at) => nodes[at === 3 ? 4 : at] ?? node),
    "wrong type",
  ],
])("a tree %s is refused before its signatures are verified", async (_, bend, why) => {
  const { seat } = await seasoned()
  const { tree, context } = opened(seat("A").current())
  const kit = testKit(suite)
  const bent: Tree = { nodes: bend(tree.nodes), hashes: [] }
  const hash = await treeHash(kit, { ...bent, hashes: [] })
  await expect(checkTree(kit, bent, { ...context, treeHash: hash })).rejects.toThrow(why)
})

test("a tree with another hash, or with a parent that no leaf vouches for, is refused", async () => {
  const kit = testKit(suite)
  const check = async ({ seat }: Awaited<ReturnType<typeof roomOf>>, root: number, unmergedLeaves: number[]) => {
    const { tree, context } = opened(seat("A").current())
    const bent: Tree = { nodes: bendParent(tree.nodes, root, { unmergedLeaves }), hashes: [] }
    await checkTree(kit, bent, { ...context, treeHash: await treeHash(kit, { ...bent, hashes: [] }) })
  }
  const two = await roomOf(suite, "A", "B")
  await two.room.update("A")
  await check(two, 1, [])
  // Only A vouches for the root, but A is listed as unmerged.
  await expect(check(two, 1, [0])).rejects.toThrow("valid parent hash")
  const four = await roomOf(suite, "A", "B", "C")
  await four.room.remove("A", ["B"])
  await four.room.add("A", [await ourSeat(suite, "B2")])
  await check(four, 3, [1])
  // Listed instead of B, which was added later.
  await expect(check(four, 3, [0])).rejects.toThrow("valid parent hash")
  const { tree, context } = opened(two.seat("A").current())
  const other = { ...context, treeHash: suite.random(32) }
  await expect(checkTree(kit, tree, other)).rejects.toThrow("the tree hash differs from that of the group")
})

test("a tree in which an intermediate parent does not list an unmerged leaf is refused", async () => {
  const { room, seat } = await roomOf(suite, "A", "B", "C", "D", "E", "F", "G", "H")
  await room.remove("A", ["F"])
  await room.update("H")
  await room.add("A", [await ourSeat(suite, "F2")])
  const { tree, context } = opened(seat("A").current())
  const kit = testKit(suite)
  const bent: Tree = { nodes: bendParent(tree.nodes, 11, { unmergedLeaves: [] }), hashes: [] }
  const hash = await treeHash(kit, { ...bent, hashes: [] })
  await expect(checkTree(kit, bent, { ...context, treeHash: hash })).rejects.toThrow("does not list")
})

/** Names a new device for every credential. */
function any(): () => string {
  let devices = 0
  return () => `device ${devices++}`
}

function keyOf(nodes: Nodes, index: number): object {
  const node = nodes[index]
  return node?.nodeType === "leaf" ? { hpkePublicKey: node.leaf.hpkePublicKey } : fail("no leaf")
}

function credential(name: string): object {
  return { credential: { credentialType: "basic", identity: utf8(name) } }
}

function able(nodes: Nodes, change: object): object {
  const node = nodes[10]
  return node?.nodeType === "leaf" ? { capabilities: { ...node.leaf.capabilities, ...change } } : fail("no leaf")
}
