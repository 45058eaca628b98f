import { optionalEncoder } from "ts-mls/codec/optional.js"
import { encode } from "ts-mls/codec/tlsEncoder.js"
import { varLenTypeEncoder } from "ts-mls/codec/variableLength.js"
import { type Node, nodeEncoder } from "ts-mls/ratchetTree.js"
import { treeHashRoot } from "ts-mls/treeHash.js"
import { beforeAll, describe, expect, test } from "vitest"
import { hex } from "../../clients/core/messaging/crypto/bytes.ts"
import { opened } from "../../clients/core/messaging/engine/state.ts"
import { decodeTree } from "../../clients/core/messaging/engine/tree-bytes.ts"
import { roomOf } from "../../clients/core/messaging/testing/cast.ts"
import { testKit } from "../../clients/core/messaging/testing/forge.ts"
import { ourSeat } from "../../clients/core/messaging/testing/our-seat.ts"
import { refusalWithPlace } from "./testing/bent.ts"
import { suite } from "./testing/recording.ts"
import { parseTree } from "./tree.ts"
import { treeHash } from "./tree-hash.ts"

type Nodes = (Node | undefined)[]
const encodeNodes = encode(varLenTypeEncoder(optionalEncoder(nodeEncoder)))
let nodes: Nodes
beforeAll(async () => {
  // Every node is set, and F is unmerged.
  const { room, seat } = await roomOf(suite, "A", "B", "C", "D", "E")
  for (const by of ["E", "C", "A"]) await room.update(by)
  await room.add("B", [await ourSeat(suite, "F")])
  nodes = opened(seat("A").current()).tree.nodes.slice(0, 11)
})

const parentAt = (index: number, change: object) => () =>
  nodes.map((node, at): Node | undefined =>
    at === index && node?.nodeType === "parent" ? { ...node, parent: { ...node.parent, ...change } } : node,
  )
const blank = (count: number): Nodes => new Array(count).fill(undefined)

describe("a tree", () => {
  test.each<[string, () => Nodes, string]>([
    ["unchanged", () => nodes, "read"],
    ["without nodes", () => [], "MLS_MALFORMED ratchet_tree: has no nodes"],
    ["that ends in a blank", () => [...nodes, undefined], "MLS_NON_CANONICAL ratchet_tree: ends in a blank"],
    ["of blanks", () => blank(5), "MLS_NON_CANONICAL ratchet_tree: ends in a blank"],
    ["with blanks inside", () => nodes.map((node, i) => (i === 4 || i === 5 ? undefined : node)), "read"],
    [
      "with a leaf where a parent belongs",
      () => nodes.map((node, i) => (i === 1 ? nodes[0] : node)),
      "MLS_MALFORMED node_type: does not match the position",
    ],
    [
      "with a parent where a leaf belongs",
      () => nodes.map((node, i) => (i === 2 ? nodes[1] : node)),
      "MLS_MALFORMED node_type: does not match the position",
    ],
    ["of 4,095 nodes", () => [...blank(4094), nodes[0]], "read"],
    ["of 4,097 nodes", () => [...blank(4096), nodes[0]], "MLS_TOO_LARGE ratchet_tree"],
    [
      "with unmerged leaves that do not ascend",
      parentAt(7, { unmergedLeaves: [5, 4] }),
      "MLS_MALFORMED parent_node.unmerged_leaves",
    ],
    [
      "with an unmerged leaf twice",
      parentAt(7, { unmergedLeaves: [5, 5] }),
      "MLS_MALFORMED parent_node.unmerged_leaves",
    ],
    [
      "with an unmerged leaf of the other side",
      parentAt(3, { unmergedLeaves: [4] }),
      "MLS_MALFORMED parent_node.unmerged_leaves",
    ],
    [
      "with an unmerged leaf before it",
      parentAt(5, { unmergedLeaves: [1] }),
      "MLS_MALFORMED parent_node.unmerged_leaves",
    ],
    [
      "with a parent key of 31 bytes",
      parentAt(3, { hpkePublicKey: new Uint8Array(31) }),
      "MLS_MALFORMED parent_node.encryption_key",
    ],
    ["with a parent hash of 31 bytes", parentAt(3, { parentHash: new Uint8Array(31) }), "MLS_MALFORMED parent_hash"],
  ])("%s", (_, make, expected) => {
    expect(refusalWithPlace(() => parseTree(encodeNodes(make())))).toBe(expected)
  })

  test("of more than 4 MiB is refused before it is read", () => {
    expect(refusalWithPlace(() => parseTree(new Uint8Array(4 * 2 ** 20 + 1)))).toBe("MLS_TOO_LARGE ratchet_tree")
  })
})

describe("the tree hash", () => {
  const { cs } = testKit(suite)

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 32, 33])(
    "of %i nodes with blanks is that of ts-mls",
    async (count) => {
      const [leaf] = nodes
      const merged = parentAt(3, { unmergedLeaves: [] })()[3]
      const some = Array.from({ length: count }, (_, i) => {
        if (i !== count - 1 && i % 3 === 1) return undefined
        return i % 2 === 0 ? leaf : merged
      })
      const bytes = encodeNodes(some)
      expect(hex(treeHash(parseTree(bytes)))).toBe(hex(await treeHashRoot(decodeTree(bytes).nodes, cs.hash)))
    },
  )

  test("changes with any node of the tree", () => {
    const hash = hex(treeHash(parseTree(encodeNodes(nodes))))
    for (const [i, node] of nodes.entries()) {
      if (node === undefined || i === nodes.length - 1) continue
      const without = nodes.map((one, at) => (at === i ? undefined : one))
      expect(hex(treeHash(parseTree(encodeNodes(without))))).not.toBe(hash)
    }
  })

  test("does not depend on omitted blanks at the end", () => {
    const [leaf] = nodes
    const sent = parseTree(encodeNodes([leaf, undefined, leaf, undefined, leaf]))
    expect(hex(treeHash(sent))).toBe(hex(treeHash({ ...sent, nodes: [...sent.nodes, undefined, undefined] })))
  })
})
