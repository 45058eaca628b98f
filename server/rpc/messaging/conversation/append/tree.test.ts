// The uploaded tree of a commit, compared with the members after it.
import { toHex } from "@signet/canonical/bytes"
import { Refused } from "@signet/kernel/errors"
import type { Leaf } from "@signet/kernel/messaging/records"
import { bytes, leaf } from "@signet/kernel/messaging/testing/records"
import { beforeAll, expect, test } from "vitest"
import { recordSmall } from "../../../../framing/testing/recording.ts"
import { parseTree, type RatchetTree } from "../../../../framing/tree.ts"
import { treeHash } from "../../../../framing/tree-hash.ts"
import { checkTree, credentialHashOf } from "./tree.ts"

let tree: RatchetTree
let roster: Leaf[]
beforeAll(async () => {
  const [first] = (await recordSmall()).commits
  if (first === undefined) return expect.fail("no commit")
  tree = parseTree(first.tree)
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
