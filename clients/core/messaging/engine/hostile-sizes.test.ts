// Input within the size limit that has more elements than any honest message. Decoding it would take seconds.
import { encodeMlsMessage } from "ts-mls/message.js"
import { expect, test } from "vitest"
import { seeded } from "../../../../test/simulation/seeded.ts"
import { isLong } from "../../../../test/support/effort.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { encodeEpoch, encodeSecrets } from "../mls.ts"
import { refusal, roomOf } from "../testing/cast.ts"
import { forgeKeyPackage, testKit } from "../testing/forge.ts"
import { commitOf, join, manyElements, treeOf } from "../testing/many-elements.ts"
import { lifetime, newIdentity, ourSeat } from "../testing/our-seat.ts"
import { randomStructure } from "../testing/random-structures.ts"
import { MlsError } from "./refusal.ts"
import { requireFew } from "./shape.ts"
import { closed, opened } from "./state.ts"
import { strictMessage } from "./strict.ts"
import { leafAt, type Tree, treeHash } from "./tree.ts"
import { decodeTree, encodeTree } from "./tree-bytes.ts"

function reasonOf(work: () => unknown): string {
  try {
    work()
    return "decoded"
  } catch (error) {
    return error instanceof MlsError ? error.reason : String(error)
  }
}

test.each(Object.entries(manyElements))("too many %s are refused before they are decoded", (_, { wireformat, of }) => {
  const bytes = of(40_000)
  expect(reasonOf(() => requireFew(bytes, "message"))).toBe("MLS_TOO_LARGE")
  expect(reasonOf(() => strictMessage(bytes, 1536 * 1024, wireformat))).toBe("MLS_TOO_LARGE")
})

test("too many nodes or unmerged leaves of a tree are refused before they are decoded", () => {
  for (const bytes of [treeOf.blanks(60_000), treeOf.unmerged(74_001)]) {
    expect(reasonOf(() => decodeTree(bytes))).toBe("MLS_TOO_LARGE")
  }
})

test.each([
  ["proposals", "removals", 256],
  ["added devices with the most elements", "joiners", 256],
  ["extensions in a proposal", "changed extensions", 8],
  ["extensions of a group", "extensions of a group", 8],
  ["extensions of a leaf", "extensions of a leaf", 2],
  ["extensions of a key package", "extensions of a key package", 2],
  ["cipher suites of a leaf", "cipher suites of a joiner", 8],
  ["credential types of a leaf", "credential types of a joiner", 3],
  // Its other four lists have an entry each. The exact limit is 32 in all, and is checked after decoding.
  ["elements of a leaf", "abilities of a joiner", 40 - 4],
])("as many %s as the service accepts are decoded, and one more is refused", (_, name, limit) => {
  const { of, wireformat } = manyElements[name] ?? expect.fail()
  expect(reasonOf(() => requireFew(of(limit), "message"))).toBe("decoded")
  expect(reasonOf(() => requireFew(of(limit + 1), "message"))).toBe("MLS_TOO_LARGE")
  expect(reasonOf(() => strictMessage(of(limit), 1536 * 1024, wireformat))).not.toBe("MLS_TOO_LARGE")
  expect(reasonOf(() => strictMessage(of(limit + 1), 1536 * 1024, wireformat))).toBe("MLS_TOO_LARGE")
})

test("a Welcome for as many recipients as the service accepts is decoded", () => {
  const { of, wireformat } = manyElements["recipients of a Welcome"] ?? expect.fail()
  expect(reasonOf(() => strictMessage(of(1024), 1536 * 1024, wireformat))).toBe("decoded")
})

test("a tree has as many leaves as a conversation, each with the most elements", () => {
  expect(reasonOf(() => requireFew(treeOf.leaves(1000), "tree"))).toBe("decoded")
  expect(reasonOf(() => requireFew(treeOf.leaves(1150), "tree"))).toBe("MLS_TOO_LARGE")
  expect(reasonOf(() => requireFew(treeOf.unmerged(1000), "tree"))).toBe("decoded")
  expect(reasonOf(() => requireFew(treeOf.unmerged(1001), "tree"))).toBe("MLS_TOO_LARGE")
})

test.runIf(isLong)(
  "no structure of random form costs more than twice the largest honest tree",
  { timeout: 600_000 },
  () => {
    const random = seeded("hostile sizes")
    const timeOf = (work: () => unknown) => {
      const times = Array.from({ length: 5 }, () => {
        const { user, system } = process.cpuUsage()
        const reason = reasonOf(work)
        expect(reason === "decoded" || reason.startsWith("MLS_"), reason).toBe(true)
        const after = process.cpuUsage()
        return after.user - user + after.system - system
      })
      return Math.min(...times)
    }
    const honest = treeOf.leaves(1000)
    const most = timeOf(() => decodeTree(honest))
    for (let n = 0; n < 100; n++) {
      const { bytes, decode, wireformat } = randomStructure(() => random.below(2 ** 20) / 2 ** 20)
      expect(
        timeOf(() => decode(bytes)),
        `${wireformat} ${n}`,
      ).toBeLessThan(2 * most)
    }
  },
)

test("unknown or truncated structures are refused", () => {
  const removal = manyElements.removals?.of(2) ?? expect.fail()
  for (let end = 0; end < removal.length; end++) {
    expect(reasonOf(() => strictMessage(removal.subarray(0, end), 1000, "mls_public_message"))).toBe("MLS_MALFORMED")
  }
  for (const bytes of [
    commitOf(Uint8Array.of(1, 0, 99)),
    commitOf(Uint8Array.of(3, 0)),
    join([0, 1, 0, 3, 0, 1, 0xc0]),
  ]) {
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
