import { randomBytes } from "node:crypto"
import { sha256 } from "@noble/hashes/sha2.js"
import { concat, toHex } from "@signet/canonical/bytes"
import { beforeAll, expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { seed } from "../../test/support/random.ts"
import { type Commit, parseCommit, type UpdatePath } from "./commit.ts"
import { parseGroupInfo } from "./group-info.ts"
import { firstTree, treeAfter, treeBytes } from "./next-tree.ts"
import { recordHistory } from "./testing/recording.ts"
import { parseTree, type RatchetTree } from "./tree.ts"
import { subtreeHashes, treeHash } from "./tree-hash.ts"
import { vectorBytes } from "./writer.ts"

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

/** The path with the parent hash that fits its keys (RFC 9420 section 7.9). @param after The tree after the commit. */
function rehashed(after: RatchetTree, sender: number, path: UpdatePath): UpdatePath {
  const hashes = subtreeHashes(after.nodes)
  const ancestor = (level: number) => after.nodes[((sender >> level) << (level + 1)) + 2 ** level - 1]
  const levels = [...hashes.keys()].filter((level) => level > 0 && ancestor(level) !== undefined)
  expect(levels).toHaveLength(path.nodes.length)
  let parentHash: Uint8Array = new Uint8Array()
  for (const [i, level] of [...levels.entries()].reverse()) {
    const { encryptionKey } = path.nodes[i] ?? expect.fail("no node")
    const sibling = hashes[level - 1]?.[(sender >> (level - 1)) ^ 1] ?? expect.fail("no sibling")
    parentHash = sha256(concat(...[encryptionKey, parentHash, sibling].map((part) => vectorBytes(part))))
  }
  return { ...path, leafNode: { ...path.leafNode, source: { kind: "commit", parentHash } } }
}

test("a path with a key that the tree has in use is refused at every node, although its parent hash fits", () => {
  let longest = 0
  for (const { before, commit } of steps) {
    const { sender, path } = commit
    if (path === undefined || commit.adds.length + commit.removes.length > 0) continue
    longest = Math.max(longest, path.nodes.length)
    const after = treeAfter(before, commit) ?? expect.fail("does not fit")
    expect(rehashed(after, sender, path).leafNode.source).toEqual(path.leafNode.source)
    const members = [...before.leaves]
    const another = members.find(([leaf]) => leaf !== sender)?.[1]
    const used = {
      another: another?.encryptionKey,
      anotherSignature: another?.signatureKey,
      own: before.leaves.get(sender)?.encryptionKey,
      ownNext: path.leafNode.encryptionKey,
      parent: before.nodes.find((node) => node?.kind === "parent")?.encryptionKey,
    }
    for (const i of path.nodes.keys()) {
      const withKey = (encryptionKey: Uint8Array) => {
        const nodes = path.nodes.map((node, at) => (at === i ? { ...node, encryptionKey } : node))
        return treeAfter(before, { ...commit, path: rehashed(after, sender, { ...path, nodes }) })
      }
      expect(withKey(new Uint8Array(randomBytes(32)))).toBeDefined()
      for (const [of, key] of Object.entries(used)) {
        if (key !== undefined) expect([of, i, withKey(key) !== undefined]).toEqual([of, i, false])
      }
    }
  }
  expect(longest).toBeGreaterThan(1)
})
