// Input within the size limit that has more elements than any honest message. Decoding it would take seconds.
import { encodeMlsMessage } from "ts-mls/message.js"
import { expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { encodeEpoch, encodeSecrets } from "../mls.ts"
import { refusal, roomOf } from "../testing/cast.ts"
import { forgeKeyPackage, testKit } from "../testing/forge.ts"
import { lifetime, newIdentity, ourSeat } from "../testing/our-seat.ts"
import { MlsError } from "./refusal.ts"
import { requireFew } from "./shape.ts"
import { closed, opened } from "./state.ts"
import { strictMessage } from "./strict.ts"
import { leafAt, type Tree, treeHash } from "./tree.ts"
import { decodeTree, encodeTree } from "./tree-bytes.ts"

const join = (...parts: readonly (readonly number[] | Uint8Array)[]) =>
  Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from(part))))
const repeat = (bytes: readonly number[], count: number) =>
  Uint8Array.from(Buffer.alloc(bytes.length * count, Buffer.from(bytes)))
function vector(bytes: Uint8Array | readonly number[]): Uint8Array {
  const size = bytes.length
  const prefix =
    size < 64
      ? [size]
      : size < 16_384
        ? [0x40 | (size >> 8), size & 255]
        : [0x80, size >> 16, (size >> 8) & 255, size & 255]
  return join(prefix, bytes)
}
const key = vector(repeat([7], 32))
const types = vector([0, 1])

const leafNode = ({ protocols = types, extensions = vector([]) } = {}) =>
  join(key, key, [0, 1], vector([7]), types, types, protocols, types, types, [2], extensions, key)
const commit = (proposals: Uint8Array, path: Uint8Array = Uint8Array.of(0)) =>
  join([0, 1, 0, 1], key, repeat([0], 8), [1, 0, 0, 0, 0], vector([]), [3], vector(proposals), path, key, key, key)
const keyPackage = (leaf: Uint8Array) => join([0, 1, 0, 1], key, leaf, vector([]), key)
const groupInfo = (extensions: Uint8Array) =>
  join([0, 1, 0, 4, 0, 1, 0, 1], key, repeat([0], 8), key, key, vector(extensions), vector([]), key, [0, 0, 0, 0], key)

const many = 40_000
const messages = {
  removals: ["mls_public_message", commit(repeat([1, 0, 3, 0, 0, 0, 1], many))],
  "proposals by reference": ["mls_public_message", commit(repeat([2, 0], many))],
  "changed extensions": ["mls_public_message", commit(join([1, 0, 7], vector(repeat([0, 9, 0], many))))],
  "abilities of a joiner": [
    "mls_public_message",
    commit(join([1, 0, 1], keyPackage(leafNode({ protocols: vector(repeat([0, 9], many)) })))),
  ],
  "extensions of a leaf": [
    "mls_public_message",
    commit(new Uint8Array(), join([1], leafNode({ extensions: vector(repeat([0, 9, 0], many)) }), vector([]))),
  ],
  "path nodes": ["mls_public_message", commit(new Uint8Array(), join([1], leafNode(), vector(repeat([0, 0], many))))],
  "path secrets": [
    "mls_public_message",
    commit(new Uint8Array(), join([1], leafNode(), vector(join(key, vector(repeat([0, 0], many)))))),
  ],
  "recipients of a Welcome": ["mls_welcome", join([0, 1, 0, 3, 0, 1], vector(repeat([0, 0, 0], many)), key)],
  "extensions of a group": ["mls_group_info", groupInfo(repeat([0, 9, 0], many))],
} as const

function reasonOf(work: () => unknown): string {
  try {
    work()
    return "decoded"
  } catch (error) {
    return error instanceof MlsError ? error.reason : String(error)
  }
}

test.each(Object.entries(messages))("too many %s are refused before they are decoded", (_, [wireformat, bytes]) => {
  expect(reasonOf(() => requireFew(bytes, "message"))).toBe("MLS_TOO_LARGE")
  expect(reasonOf(() => strictMessage(bytes, 1536 * 1024, wireformat))).toBe("MLS_TOO_LARGE")
})

test("too many nodes or unmerged leaves of a tree are refused before they are decoded", () => {
  const parent = (unmerged: Uint8Array) => join([1, 2], key, vector([]), vector(unmerged))
  for (const nodes of [repeat([0], 60_000), parent(repeat([0, 0, 0, 1], 74_001))]) {
    expect(reasonOf(() => decodeTree(vector(nodes)))).toBe("MLS_TOO_LARGE")
  }
})

test("unknown or truncated structures are refused", () => {
  const removal = commit(repeat([1, 0, 3, 0, 0, 0, 1], 2))
  for (let end = 0; end < removal.length; end++) {
    expect(reasonOf(() => strictMessage(removal.subarray(0, end), 1000, "mls_public_message"))).toBe("MLS_MALFORMED")
  }
  for (const bytes of [commit(Uint8Array.of(1, 0, 99)), commit(Uint8Array.of(3, 0)), join([0, 1, 0, 3, 0, 1, 0xc0])]) {
    expect(reasonOf(() => requireFew(bytes, "message"))).toBe("MLS_MALFORMED")
  }
})

const suite = makeNodeSuite()
const proposals = (count: number) => new Array<number>(count).fill(0x1a1a)

test.runIf(isLong)("a commit is refused when it is made if others would refuse to decode it", async () => {
  const { seat } = await roomOf(suite, "A")
  const { engine } = seat("A")
  const keyPackages = Array.from({ length: 340 }, async (_, n) => {
    const identity = await newIdentity(suite, `device ${n}`)
    const { keyPackage: bytes } = await engine.newKeyPackage(identity, lifetime)
    const keyPackage = await forgeKeyPackage(suite, bytes, identity, ({ leafNode }) => ({
      leafNode: { ...leafNode, capabilities: { ...leafNode.capabilities, proposals: proposals(27) } },
    }))
    return encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage })
  })
  const made = await Promise.all(keyPackages)
  const adding = (count: number) => refusal(engine.add(seat("A").current(), made.slice(0, count), { aad: utf8("") }))
  expect([await adding(256), await adding(340)]).toEqual(["accepted", "MLS_TOO_LARGE"])
})

test("a stored state is decoded whatever its tree, but adds nobody who could not decode the tree", async () => {
  const { seat } = await roomOf(suite, "A")
  const inside = opened(seat("A").current())
  const own = leafAt(inside.tree, 0) ?? expect.fail("no leaf")
  const nodes = Array.from({ length: 511 }, (_, index) => {
    if (index % 2 === 1) return undefined
    const [hpkePublicKey, signaturePublicKey] = [suite.random(32), suite.random(32)]
    const credential = { credentialType: "basic" as const, identity: utf8(`member ${index}`) }
    const capabilities = { ...own.capabilities, proposals: proposals(300) }
    const other = { ...own, hpkePublicKey, signaturePublicKey, credential, capabilities }
    return { nodeType: "leaf" as const, leaf: index === 0 ? own : other }
  })
  const tree: Tree = { nodes, hashes: [] }
  const context = { ...inside.context, treeHash: await treeHash(testKit(suite), tree) }
  const wide = closed({ ...inside, tree, context })
  const { engine, identity } = seat("A")
  const stored = { epoch: encodeEpoch(wide), secrets: encodeSecrets(wide) }
  const state = await engine.decodeState(stored, identity.key)
  expect(encodeEpoch(state)).toEqual(stored.epoch)
  expect(reasonOf(() => decodeTree(encodeTree(tree)))).toBe("MLS_TOO_LARGE")
  const keyPackage = await (await ourSeat(suite, "C")).keyPackage()
  expect(await refusal(engine.add(state, [keyPackage], { aad: utf8("") }))).toBe("MLS_TOO_LARGE")
})
