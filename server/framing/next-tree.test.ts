import { toHex } from "@signet/canonical/bytes"
import { beforeAll, expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { seed } from "../../test/support/random.ts"
import { type Commit, parseCommit } from "./commit.ts"
import { parseGroupInfo } from "./group-info.ts"
import { firstTree, treeAfter, treeBytes } from "./next-tree.ts"
import { recordHistory } from "./testing/recording.ts"
import { parseTree, type RatchetTree } from "./tree.ts"
import { treeHash } from "./tree-hash.ts"

const size = effort({ steps: 40, members: 14 }, { steps: 120, members: 30 }, { steps: 800, members: 80 })

interface Step {
  readonly before: RatchetTree
  readonly commit: Commit
  readonly tree: Uint8Array
}
const steps: Step[] = []
beforeAll(async () => {
  const { commits } = await recordHistory(size.steps, size.members, seed)
  const trees = new Map(
    commits.map(({ staged, tree }) => [toHex(parseGroupInfo(staged.groupInfo).context.treeHash), parseTree(tree)]),
  )
  for (const { before, staged, tree } of commits) {
    const creator = parseTree(tree).leaves.get(0)
    const first = before.context.epoch === 0n && creator ? firstTree(creator) : undefined
    const known = trees.get(toHex(before.context.treeHash)) ?? first ?? expect.fail("no tree")
    steps.push({ before: known, commit: parseCommit(staged.commit), tree })
  }
})

test(`every commit of a random history (seed ${seed}) leads to the engine's tree`, () => {
  const kinds = new Set<string>()
  for (const { before, commit, tree } of steps) {
    kinds.add(commit.adds.length > 0 ? "add" : commit.removes.length > 0 ? "remove" : "path")
    const after = treeAfter(before, commit) ?? expect.fail("does not fit")
    expect(toHex(treeBytes(after))).toBe(toHex(tree))
    expect(toHex(treeHash(after))).toBe(toHex(treeHash(parseTree(tree))))
    expect([...after.leaves.keys()]).toEqual([...parseTree(tree).leaves.keys()])
  }
  expect([...kinds].sort()).toEqual(["add", "path", "remove"])
})

test("a path that does not fit the tree is refused", () => {
  const paths = steps.filter(({ commit }) => (commit.path?.nodes.length ?? 0) > 0)
  for (const { before, commit } of paths) {
    const path = commit.path ?? expect.fail("no path")
    const first = path.nodes[0] ?? expect.fail("nobody else")
    const other = { ...first, encryptionKey: first.encryptionKey.map((byte) => byte ^ 1) }
    const bent = [
      { ...path, nodes: path.nodes.slice(1) },
      { ...path, nodes: [...path.nodes, first] },
      { ...path, nodes: [...path.nodes, other] },
      { ...path, nodes: [{ ...first, recipients: first.recipients + 1 }, ...path.nodes.slice(1)] },
      { ...path, nodes: [other, ...path.nodes.slice(1)] },
      { ...path, leafNode: { ...path.leafNode, source: { kind: "commit" as const, parentHash: new Uint8Array(32) } } },
    ]
    for (const one of bent) expect(treeAfter(before, { ...commit, path: one })).toBeUndefined()
  }
  expect(paths.length).toBeGreaterThan(0)
})

test("a key of the tree cannot be added again, and a blank leaf cannot be removed", () => {
  for (const { before, commit } of steps) {
    const [[index, leaf] = expect.fail("nobody")] = before.leaves
    const [added] = commit.adds
    if (added !== undefined) {
      const taken = { ...added, leafNode: { ...added.leafNode, encryptionKey: leaf.encryptionKey } }
      expect(treeAfter(before, { ...commit, adds: [taken] })).toBeUndefined()
      expect(treeAfter(before, { ...commit, adds: [added, added] })).toBeUndefined()
    }
    const { path } = commit
    const another = [...before.leaves].find(([place]) => place !== commit.sender)?.[1]
    if (path !== undefined && another !== undefined) {
      for (const key of ["encryptionKey", "signatureKey"] as const) {
        const leafNode = { ...path.leafNode, [key]: another[key] }
        expect(treeAfter(before, { ...commit, path: { ...path, leafNode } })).toBeUndefined()
      }
    }
    const others = new Map([...before.leaves].filter(([place]) => place !== index))
    expect(treeAfter({ ...before, leaves: others }, { ...commit, sender: index })).toBeUndefined()
    expect(treeAfter(before, { ...commit, removes: [4_000] })).toBeUndefined()
  }
})
