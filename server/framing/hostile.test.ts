import { concat } from "@signet/canonical/bytes"
import { describe, expect, test } from "vitest"
import { maxLeaves } from "../../clients/core/messaging/engine/kit.ts"
import { requireFew } from "../../clients/core/messaging/engine/shape.ts"
import { maxCount } from "../kernel/messaging/limits.ts"
import { parseCommit } from "./commit.ts"
import { parseGroupInfo } from "./group-info.ts"
import { parseKeyPackage } from "./key-package.ts"
import { maxInside } from "./limits.ts"
import { parseApplication } from "./message.ts"
import { refusal } from "./testing/bent.ts"
import { levelOf, parseTree } from "./tree.ts"
import { treeHash } from "./tree-hash.ts"
import { splitWelcome } from "./welcome.ts"
import { lengthBytes, uint32Bytes, vectorBytes } from "./writer.ts"

const mebibyte = 2 ** 20
const huge = 64 * mebibyte

/** The number of steps of a run: how often it reads a byte or a part of its input. */
function stepsOf(bytes: Uint8Array, run: (bytes: Uint8Array) => unknown): number {
  let steps = 0
  const counting = new Proxy(bytes, {
    get(target, name) {
      if (typeof name === "string" && /^\d+$/.test(name)) steps++
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== "function") return value
      return (...values: unknown[]) => {
        steps++
        return Reflect.apply(value, target, values)
      }
    },
  })
  run(counting)
  return steps
}

/** A lower bound for the bytes of buffers that a run allocates. */
function buffered(run: () => unknown): number {
  const before = process.memoryUsage().arrayBuffers
  run()
  return process.memoryUsage().arrayBuffers - before
}

const bytesOf = (...numbers: number[]) => Uint8Array.from(numbers)
const repeated = (element: Uint8Array, count: number) => {
  const whole = new Uint8Array(element.length * count)
  for (let i = 0; i < count; i++) whole.set(element, i * element.length)
  return whole
}

const frame = concat(vectorBytes(new Uint8Array(32)), new Uint8Array(8))
const member = bytesOf(1, 0, 0, 0, 0)
const noAad = bytesOf(0)
const publicHead = concat(bytesOf(0, 1, 0, 1), frame, member)
const commitHead = concat(publicHead, noAad, bytesOf(3))
const key = vectorBytes(new Uint8Array(32))
const signature = vectorBytes(new Uint8Array(64))
const basic = (size: number) => concat(bytesOf(0, 1), vectorBytes(new Uint8Array(size)))
const suiteOne = bytesOf(0, 1)

/** A leaf with the maximum number of list elements: 1 version, 8 suites, 3 credential types, 2 extensions and 18 others. */
function wideLeaf(source: Uint8Array, credential = 200): Uint8Array {
  const many = (count: number) => vectorBytes(repeated(suiteOne, count))
  const extensions = vectorBytes(bytesOf(0, 1, 0), bytesOf(0, 2, 0))
  return concat(key, key, basic(credential), many(1), many(8), many(9), many(9), many(3), source, extensions, signature)
}

const lifetime = concat(bytesOf(1), new Uint8Array(16))

/** An Add of a key package with unique keys. */
function wideAdd(n: number): Uint8Array {
  const keys = [0, 1, 2].map((i) => {
    const bytes = new Uint8Array(32)
    bytes.set(uint32Bytes(n * 3 + i + 1))
    return vectorBytes(bytes)
  })
  const leaf = wideLeaf(lifetime, 4900)
  const [init = key, encryption = key, sign = key] = keys
  leaf.set(encryption, 0)
  leaf.set(sign, encryption.length)
  return concat(bytesOf(1, 0, 1), bytesOf(0, 1, 0, 1), init, leaf, bytesOf(0), signature)
}

const claims = {
  "2^30 - 1 bytes": bytesOf(0xbf, 0xff, 0xff, 0xff),
  "4 GiB": bytesOf(0xc0, 0, 0, 1, 0, 0, 0, 0),
  "2^62 - 1 bytes": new Uint8Array(8).fill(0xff),
}

describe.each(Object.entries(claims))("a claim of %s", (_, claim) => {
  test.each<[string, (bytes: Uint8Array) => unknown, Uint8Array]>([
    ["group id", parseApplication, bytesOf(0, 1, 0, 2)],
    ["authenticated data", parseCommit, publicHead],
    ["proposals", parseCommit, commitHead],
    ["path", parseCommit, concat(commitHead, bytesOf(0, 1))],
    ["init key", parseKeyPackage, bytesOf(0, 1, 0, 5, 0, 1, 0, 1)],
    ["group context", parseGroupInfo, bytesOf(0, 1, 0, 4, 0, 1, 0, 1)],
    ["secrets", splitWelcome, bytesOf(0, 1, 0, 3, 0, 1)],
    ["tree", parseTree, bytesOf()],
  ])("as the length of %s is refused at once, and nothing is allocated for it", (_, read, head) => {
    const bytes = concat(head, claim, new Uint8Array(100))
    expect(refusal(() => read(bytes))).toBe("MLS_MALFORMED")
    expect(stepsOf(bytes, (counting) => refusal(() => read(counting)))).toBeLessThanOrEqual(bytes.length)
    expect(buffered(() => refusal(() => read(bytes)))).toBeLessThan(mebibyte)
  })
})

/** More than one list's maximum of elements, and far fewer than the million that are sent. */
const maxSteps = 5_000

// Without limits for the whole message, to test the inner limits alone.
test.each<[string, () => Uint8Array, (bytes: Uint8Array) => unknown, string]>([
  [
    "a million removes",
    () => repeatedIn(commitHead, bytesOf(1, 0, 3, 0, 0, 0), 1e6, 1),
    (b) => parseCommit(b, huge),
    "MLS_TOO_LARGE",
  ],
  [
    "a million empty proposals",
    () => concat(commitHead, vectorBytes(new Uint8Array(1e6))),
    (b) => parseCommit(b, huge),
    "MLS_MALFORMED",
  ],
  [
    "a million references",
    () => repeatedIn(commitHead, bytesOf(2, 0), 1e6),
    (b) => parseCommit(b, huge),
    "MLS_UNSUPPORTED",
  ],
  [
    "a million steps of a path",
    () => repeatedIn(concat(commitHead, bytesOf(0, 1), wideLeaf(bytesOf(3, 0))), concat(key, bytesOf(0)), 1e6),
    (b) => parseCommit(b, huge),
    "MLS_TOO_LARGE",
  ],
  [
    "a million secrets",
    () => repeatedIn(bytesOf(0, 1, 0, 3, 0, 1), bytesOf(0, 0, 0), 1e6),
    (b) => splitWelcome(b, huge),
    "MLS_MALFORMED",
  ],
  ["a million blanks", () => repeatedIn(bytesOf(), bytesOf(0), 1e6), (b) => parseTree(b), "MLS_TOO_LARGE"],
  [
    "a million extensions of a group",
    () => groupWith(repeatedIn(bytesOf(), bytesOf(0, 3, 0), 1e6)),
    (b) => parseGroupInfo(b, huge),
    "MLS_MALFORMED",
  ],
  [
    "extensions inside extensions, a million deep",
    () => groupWith(nested(1e6)),
    (b) => parseGroupInfo(b, huge),
    "MLS_UNSUPPORTED",
  ],
  [
    "authenticated data of 64 MiB",
    () => concat(publicHead, vectorBytes(new Uint8Array(huge - 100)), bytesOf(3)),
    (b) => parseCommit(b, huge * 2),
    "MLS_TOO_LARGE",
  ],
  [
    "capabilities of a million numbers",
    () => concat(bytesOf(0, 1, 0, 5, 0, 1, 0, 1), key, key, key, basic(200), vectorBytes(new Uint8Array(2e6))),
    (b) => parseKeyPackage(b, huge),
    "MLS_TOO_LARGE",
  ],
  ["a commit beyond its size", () => new Uint8Array(1536 * 1024 + 1), (b) => parseCommit(b), "MLS_TOO_LARGE"],
])("%s: refused after few steps, with constant memory", (_, make, read, expected) => {
  const bytes = make()
  expect(refusal(() => read(bytes))).toBe(expected)
  expect(stepsOf(bytes, (counting) => refusal(() => read(counting)))).toBeLessThan(maxSteps)
  expect(buffered(() => refusal(() => read(bytes)))).toBeLessThan(mebibyte)
})

function repeatedIn(head: Uint8Array, element: Uint8Array, count: number, padding = 0): Uint8Array {
  const one = concat(element, new Uint8Array(padding))
  const whole = repeated(one, count)
  // Distinct leaf indices, so that no two removes are equal.
  if (padding === 1) for (let i = 0; i < count; i++) whole.set(uint32Bytes(i + 1), i * one.length + 3)
  return concat(head, vectorBytes(whole))
}

const groupWith = (extensions: Uint8Array) =>
  concat(bytesOf(0, 1, 0, 4, 0, 1, 0, 1), key, new Uint8Array(7), bytesOf(1), key, key, extensions)

/** Every byte is the beginning of a nested vector. */
function nested(deep: number): Uint8Array {
  const size = lengthBytes(deep)
  return vectorBytes(bytesOf(0, 3), size, new Uint8Array(deep).fill(0x3f), bytesOf(0x1a, 0x1a, 0))
}

describe("the largest accepted messages are read once, in fewer steps than bytes", () => {
  test("a commit of 1.5 MiB with 256 adds, each with the maximum of capabilities", () => {
    const adds = Array.from({ length: maxInside.proposals }, (_, n) => wideAdd(n))
    const bytes = concat(commitHead, vectorBytes(...adds), bytesOf(0), signature, key, key)
    expect(bytes.length).toBeGreaterThan(1.2 * mebibyte)
    expect(parseCommit(bytes).adds).toHaveLength(256)
    expect(stepsOf(bytes, parseCommit)).toBeLessThan(bytes.length)
    requireFew(bytes, "message")
    const oneMore = concat(commitHead, vectorBytes(...adds, wideAdd(256)), bytesOf(0), signature, key, key)
    expect(refusal(() => parseCommit(oneMore, huge))).toBe("MLS_TOO_LARGE")
  })

  test("a commit with 256 removes and a path for 2,048 recipients", () => {
    const removes = Array.from({ length: maxInside.proposals }, (_, n) => concat(bytesOf(1, 0, 3), uint32Bytes(n + 1)))
    const sealed = concat(key, vectorBytes(new Uint8Array(48)))
    const nodes = Array.from({ length: maxInside.pathNodes }, (_, i) =>
      concat(key, vectorBytes(...(i === 0 ? new Array(maxInside.pathSecrets).fill(sealed) : []))),
    )
    const path = concat(bytesOf(1), wideLeaf(bytesOf(3, 0)), vectorBytes(...nodes))
    const bytes = concat(commitHead, vectorBytes(...removes), path, signature, key, key)
    expect(parseCommit(bytes).removes).toHaveLength(256)
    requireFew(bytes, "message")
  })

  test("a tree of as many leaves as a conversation may have, each unmerged in every parent", () => {
    const leaf = concat(bytesOf(1, 1), wideLeaf(lifetime))
    const leaves = maxCount.leaves.most
    const nodes = Array.from({ length: leaves * 2 - 1 }, (_, index) => {
      if (index % 2 === 0) return leaf
      const reach = 2 ** levelOf(index) - 1
      const below = Array.from({ length: reach + 1 }, (_, i) => (index - reach) / 2 + i).filter((each) => each < leaves)
      return concat(bytesOf(1, 2), key, bytesOf(0), vectorBytes(...below.map(uint32Bytes)))
    })
    const bytes = vectorBytes(...nodes)
    expect(parseTree(bytes).leaves.size).toBe(leaves)
    requireFew(bytes, "tree")
    expect([maxLeaves, maxCount.subjectsPerCommit]).toEqual([leaves, maxInside.proposals])
  })

  test("a tree of 4 MiB with 2,048 leaves", () => {
    const leaf = concat(bytesOf(1, 1), wideLeaf(lifetime, 1730))
    const nodes = Array.from({ length: 4095 }, (_, i) => (i % 2 === 0 ? leaf : bytesOf(0)))
    const bytes = vectorBytes(...nodes)
    expect(bytes.length).toBeGreaterThan(3.8 * mebibyte)
    expect(parseTree(bytes).leaves.size).toBe(2048)
    expect(stepsOf(bytes, parseTree)).toBeLessThan(bytes.length)
    expect(treeHash(parseTree(bytes))).toHaveLength(32)
  })
})
