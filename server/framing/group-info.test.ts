import type { GroupInfo } from "ts-mls/groupInfo.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { beforeAll, expect, test } from "vitest"
import { fitsGroup, parseGroupInfo, verifyGroupInfo } from "./group-info.ts"
import { bent, refusalWithPlace, theirs } from "./testing/bent.ts"
import { binding, recordSmall } from "./testing/recording.ts"
import { parseTree } from "./tree.ts"

let good: Uint8Array
let tree: Uint8Array
beforeAll(async () => {
  const [first] = (await recordSmall()).commits
  if (first === undefined) throw new Error("no commit")
  good = first.staged.groupInfo
  tree = first.tree
})

function bentInfo(bend: (info: GroupInfo) => object): Uint8Array {
  const { groupInfo } = theirs(good, "mls_group_info")
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_group_info", groupInfo: bent(groupInfo, bend) })
}

const inContext = (bend: object) => (info: GroupInfo) => ({ groupContext: { ...info.groupContext, ...bend } })
const extension = (extensionType: number | string, extensionData = new Uint8Array(3)) => ({
  extensionType,
  extensionData,
})

test.each<[string, (info: GroupInfo) => object, string]>([
  ["as it is", () => ({}), "read"],
  [
    "with a tree",
    () => ({ extensions: [extension("ratchet_tree")] }),
    "MLS_UNSUPPORTED group_info.extensions: a type that is not used here",
  ],
  [
    "with an external key",
    () => ({ extensions: [extension("external_pub")] }),
    "MLS_UNSUPPORTED group_info.extensions: a type that is not used here",
  ],
  [
    "with two proofs",
    () => ({ extensions: [extension(0xf0a2), extension(0xf0a2)] }),
    "MLS_MALFORMED group_info.extensions: a type twice",
  ],
  ["without a proof", () => ({ extensions: [] }), "read"],
  [
    "of a group with external senders",
    inContext({ extensions: [extension("external_senders")] }),
    "MLS_UNSUPPORTED group_context.extensions: a type that is not used here",
  ],
  ["of a group with required capabilities", inContext({ extensions: [extension("required_capabilities")] }), "read"],
  [
    "of another suite",
    inContext({ cipherSuite: "MLS_256_DHKEMX448_AES256GCM_SHA512_Ed448" }),
    "MLS_UNSUPPORTED cipher_suite",
  ],
  [
    "with a tree hash of 31 bytes",
    inContext({ treeHash: new Uint8Array(31) }),
    "MLS_MALFORMED group_context.tree_hash",
  ],
  [
    "without a transcript",
    inContext({ confirmedTranscriptHash: new Uint8Array() }),
    "MLS_MALFORMED group_context.confirmed_transcript_hash",
  ],
  ["of epoch 0 with a transcript", inContext({ epoch: 0n }), "MLS_MALFORMED group_context.confirmed_transcript_hash"],
  ["of epoch 0 without a transcript", inContext({ epoch: 0n, confirmedTranscriptHash: new Uint8Array() }), "read"],
  [
    "with a confirmation tag of 31 bytes",
    () => ({ confirmationTag: new Uint8Array(31) }),
    "MLS_MALFORMED confirmation_tag",
  ],
  ["with a signature of 63 bytes", () => ({ signature: new Uint8Array(63) }), "MLS_MALFORMED group_info.signature"],
])("a GroupInfo %s", (_, bend, expected) => {
  expect(refusalWithPlace(() => parseGroupInfo(bentInfo(bend)))).toBe(expected)
})

test("a GroupInfo of more than 64 KiB is refused before it is read", () => {
  const large = bentInfo(() => ({ extensions: [extension(0xf0a2, new Uint8Array(64 * 1024))] }))
  expect(refusalWithPlace(() => parseGroupInfo(large))).toBe("MLS_TOO_LARGE mls_group_info")
})

test("a GroupInfo verifies only unchanged and with its signer's key", () => {
  const key = parseTree(tree).leaves.get(0)?.signatureKey ?? new Uint8Array()
  const other = parseTree(tree).leaves.get(1)?.signatureKey ?? new Uint8Array()
  expect(verifyGroupInfo(parseGroupInfo(good), key)).toBe(true)
  expect(verifyGroupInfo(parseGroupInfo(good), other)).toBe(false)
  expect(verifyGroupInfo(parseGroupInfo(bentInfo(() => ({ signer: 1 }))), key)).toBe(false)
})

test("a leaf that lacks the group's extension does not fit it", () => {
  const leaf = parseTree(tree).leaves.get(0)
  if (leaf === undefined) throw new Error("no leaf")
  const { context } = parseGroupInfo(good)
  expect(context.binding).toEqual(binding)
  expect(fitsGroup(leaf, context)).toBe(true)
  const fits = (of: readonly number[], needed: readonly number[]) =>
    fitsGroup(
      { ...leaf, capabilities: { ...leaf.capabilities, extensions: [...of] } },
      { ...context, extensions: needed.map((type) => ({ type, data: new Uint8Array() })) },
    )
  const [first, second] = [0xf0a1, 0xf0b1]
  expect(fits([], [first])).toBe(false)
  expect(fits([first], [first, second])).toBe(false)
  expect(fits([second], [first, second])).toBe(false)
  expect(fits([first, second], [first, second])).toBe(true)
})
