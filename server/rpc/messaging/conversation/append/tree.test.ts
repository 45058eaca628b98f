// The uploaded tree of a commit, compared with the members after it.
import { toHex } from "@signet/canonical/bytes"
import { Refused } from "@signet/kernel/errors"
import type { Leaf } from "@signet/kernel/messaging/records"
import { bytes, leaf } from "@signet/kernel/messaging/testing/records"
import { beforeAll, expect, test } from "vitest"
import { recordSmall } from "../../../../framing/testing/recording.ts"
import { parseTree, type RatchetTree } from "../../../../framing/tree.ts"
import { treeHash } from "../../../../framing/tree-hash.ts"
import { checkTree, credentialHashOf, loadTree } from "./tree.ts"

let whole: Uint8Array
let tree: RatchetTree
let roster: Leaf[]
beforeAll(async () => {
  const [first] = (await recordSmall()).commits
  if (first === undefined) return expect.fail("no commit")
  whole = first.tree
  tree = parseTree(whole)
  roster = [...tree.leaves].map(([index, node]) => ({ ...leaf(index, 10), credentialHash: credentialHashOf(node) }))
})

function reasonOf(check: () => unknown): string {
  try {
    check()
    return "taken"
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return error.reason
  }
}

test("an uploaded tree has exactly the members, with the leaves of the commit", () => {
  const hash = treeHash(tree)
  const [[index, own] = expect.fail("no leaf")] = tree.leaves
  const named = (node: typeof own) => new Map([[toHex(credentialHashOf(own)), node]])
  const others = roster.filter((one) => one.leafIndex !== index)
  const cases: [Leaf[], Parameters<typeof checkTree>[3], string][] = [
    [roster, new Map(), "taken"],
    [roster, named(own), "taken"],
    [roster, named({ ...own, bytes: bytes(1) }), "GROUP_INFO_MISMATCH"],
    [others, new Map(), "GHOST_MEMBER"],
    [[...others, { ...leaf(index, 10), credentialHash: bytes(1) }], new Map(), "GHOST_MEMBER"],
    [[...roster, leaf(99, 20)], new Map(), "GROUP_INFO_MISMATCH"],
  ]
  for (const [members, leaves, expected] of cases) {
    expect(reasonOf(() => checkTree(tree, hash, members, leaves))).toBe(expected)
  }
  expect(reasonOf(() => checkTree(tree, bytes(1), roster, new Map()))).toBe("GROUP_INFO_MISMATCH")
})

test("a tree is read chunk by chunk, and a tree that disappears or has an empty chunk is unavailable", async () => {
  const reading = (chunkAt: (at: number) => { chunk: Uint8Array; size: number } | undefined) => {
    const store = { conversations: { tree: async (_: unknown, __: unknown, at: number) => chunkAt(at) } }
    return loadTree({ store } as never, { id: "cnv_1", state: { treeHash: bytes(1) } } as never)
  }
  const part = (at: number) => ({ chunk: whole.subarray(at, at + 100), size: whole.length })
  expect(treeHash((await reading(part)) ?? expect.fail("no tree"))).toEqual(treeHash(tree))
  for (const last of [undefined, { chunk: new Uint8Array(), size: whole.length }]) {
    await expect(reading((at) => (at < 100 ? part(at) : last))).rejects.toMatchObject({ reason: "UNAVAILABLE" })
  }
  expect(await loadTree({ store: {} } as never, { id: "cnv_1", state: null } as never)).toBeUndefined()
})
