// Messages and trees that are read and written without ts-mls decode to its values, and are refused for its reasons.
import { decodeOptional, optionalEncoder } from "ts-mls/codec/optional.js"
import { encode } from "ts-mls/codec/tlsEncoder.js"
import { decodeVarLenType, varLenTypeEncoder } from "ts-mls/codec/variableLength.js"
import { decodeMlsMessage, encodeMlsMessage } from "ts-mls/message.js"
import { decodeNode, nodeEncoder } from "ts-mls/ratchetTree.js"
import { expect, test } from "vitest"
import { seeded } from "../../../../test/simulation/seeded.ts"
import { isLong } from "../../../../test/support/effort.ts"
import { join, manyElements, treeOf } from "../testing/many-elements.ts"
import { randomStructure } from "../testing/random-structures.ts"
import { decodeMessage, encodeMessage } from "./message-bytes.ts"
import { MlsError } from "./refusal.ts"
import { decodeStrictly, maxBytes } from "./strict.ts"
import { decodeStoredTree } from "./tree-bytes.ts"

const random = seeded("same as ts-mls")
const decodeNodes = decodeVarLenType(decodeOptional(decodeNode))
const encodeNodes = encode(varLenTypeEncoder(optionalEncoder(nodeEncoder)))

/** The decoded value, or the reason of the refusal. */
function outcome(decode: () => unknown): unknown {
  try {
    return decode()
  } catch (error) {
    return error instanceof MlsError ? error.reason : error
  }
}

function compareMessages(bytes: Uint8Array): unknown {
  const theirs = outcome(() => decodeStrictly(bytes, maxBytes.commit, decodeMlsMessage, encodeMlsMessage))
  expect(outcome(() => decodeStrictly(bytes, maxBytes.commit, decodeMessage, encodeMessage))).toEqual(theirs)
  return theirs
}

function compareTrees(bytes: Uint8Array): unknown {
  const theirs = outcome(() => decodeStrictly(bytes, maxBytes.tree, decodeNodes, encodeNodes))
  const ours = outcome(() => decodeStoredTree(bytes).nodes)
  if (!Array.isArray(theirs)) expect(ours).toEqual(theirs)
  else if (theirs.length === 0 || theirs.at(-1) === undefined) expect(ours).toBe("MLS_BAD_TREE")
  else {
    const blanks = Array.isArray(ours) ? ours.length - theirs.length : expect.fail(String(ours))
    expect(ours).toEqual([...theirs, ...new Array(blanks).fill(undefined)])
  }
  return theirs
}

/** The bytes with one changed, removed or added, or with their end missing. */
function damaged(bytes: Uint8Array): Uint8Array {
  const at = random.below(bytes.length)
  const before = bytes.subarray(0, at)
  const kind = random.below(8)
  if (kind === 0) return join(before, bytes.subarray(at + 1))
  if (kind === 1) return join(before, [random.below(256)], bytes.subarray(at))
  if (kind === 2) return Uint8Array.from(before)
  const byte = kind < 6 ? random.below(256) : (bytes[at] ?? 0) ^ (1 << random.below(8))
  return join(before, [byte], bytes.subarray(at + 1))
}

const messages = Object.entries(manyElements).map(([name, { of }]) => [name, of(2), compareMessages] as const)
const trees = Object.entries(treeOf).map(([name, of]) => [`a tree of ${name}`, of(2), compareTrees] as const)

test.each([...messages, ...trees])("%s: whole and damaged", (_, bytes, compare) => {
  expect(compare(bytes)).toBeTypeOf("object")
  for (let n = 0; n < (isLong ? 3_000 : 300); n++) compare(damaged(bytes))
})

test.each([1, 63, 64, 70, 16_383, 16_384])("vectors around the sizes of lengths: %i elements", (count) => {
  for (const name of ["recipients of a Welcome", "path secrets", "path nodes", "abilities of a joiner"]) {
    const { of } = manyElements[name] ?? expect.fail()
    // The encoder of ts-mls nests a call for each element, and overflows at a few thousand.
    if (count < 1_000) expect(compareMessages(of(count))).toBeTypeOf("object")
    else
      expect(outcome(() => decodeStrictly(of(count), maxBytes.commit, decodeMessage, encodeMessage))).toBeTypeOf(
        "object",
      )
  }
})

test("structures of random form", { timeout: 600_000 }, () => {
  const outcomes = new Set<unknown>()
  for (let n = 0; n < (isLong ? 300 : 30); n++) {
    const { bytes, wireformat } = randomStructure(() => random.below(2 ** 20) / 2 ** 20)
    const compare = wireformat === "tree" ? compareTrees : compareMessages
    for (const each of [bytes, damaged(bytes)]) {
      const found = compare(each)
      outcomes.add(typeof found === "object" ? "decoded" : found)
    }
  }
  expect(outcomes).toContain("decoded")
})
