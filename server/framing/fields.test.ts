// Numbers that no encoder writes, each placed into a valid message at its octet.
import { beforeAll, expect, test } from "vitest"
import { parseCommit } from "./commit.ts"
import { parseGroupContext, parseGroupInfo } from "./group-info.ts"
import { parseKeyPackage } from "./key-package.ts"
import { parseApplication } from "./message.ts"
import { bentKeyPackage, refusalWithPlace } from "./testing/bent.ts"
import { recordSmall } from "./testing/recording.ts"

type Kind = "commit" | "application" | "groupInfo" | "keyPackage"
const parsers: Record<Kind, (bytes: Uint8Array, most?: number) => object> = {
  commit: parseCommit,
  application: parseApplication,
  groupInfo: parseGroupInfo,
  keyPackage: parseKeyPackage,
}
let messages: Record<Kind, Uint8Array>
beforeAll(async () => {
  const { commits, messages: said, keyPackages } = await recordSmall()
  const withRemove = commits[2]?.staged ?? expect.fail("no commit")
  messages = {
    commit: withRemove.commit,
    groupInfo: withRemove.groupInfo,
    application: said[0]?.message ?? expect.fail("no message"),
    keyPackage: keyPackages[0]?.keyPackage ?? expect.fail("no key package"),
  }
})

const wireFormatAt = 2
// After the header, a group id of 32 bytes, and the epoch.
const afterEpoch = 4 + 33 + 8
// After the sender, and authenticated data of 12 bytes.
const contentTypeAt = afterEpoch + 5 + 13
// After the content type, and the length of one removal.
const proposalAt = contentTypeAt + 2

function changed(bytes: Uint8Array, at: number, octet: number): Uint8Array {
  const copy = Uint8Array.from(bytes)
  copy[at] = octet
  return copy
}

test.each<[Kind, string, number, readonly number[], string]>([
  ["commit", "version", 1, [0, 2], "MLS_UNSUPPORTED version: only mls10 is used"],
  ["commit", "wire format", wireFormatAt + 1, [0, 6], "MLS_MALFORMED wire_format"],
  [
    "commit",
    "wire format",
    wireFormatAt + 1,
    [2, 3, 4, 5],
    "MLS_WRONG_WIRE_FORMAT wire_format: mls_public_message is expected here",
  ],
  ["commit", "sender type", afterEpoch, [0, 5], "MLS_MALFORMED sender_type"],
  ["commit", "sender type", afterEpoch, [2, 3, 4], "MLS_UNSUPPORTED sender_type: only members commit"],
  ["commit", "content type", contentTypeAt, [0, 4], "MLS_MALFORMED content_type"],
  ["commit", "kind of a proposal", proposalAt, [0, 3], "MLS_MALFORMED proposal_or_ref_type"],
  ["application", "content type", afterEpoch, [0, 4], "MLS_MALFORMED content_type"],
  ["groupInfo", "version of the group", 5, [0, 2], "MLS_UNSUPPORTED group_context.version"],
  ["keyPackage", "version of the key package", 5, [0, 2], "MLS_UNSUPPORTED key_package.version"],
])("%s: an unknown %s is refused", (kind, _, at, octets, expected) => {
  const parse = parsers[kind]
  expect(refusalWithPlace(() => parse(messages[kind]))).toBe("read")
  for (const octet of octets) {
    expect(refusalWithPlace(() => parse(changed(messages[kind], at, octet)))).toBe(expected)
  }
})

test("a client with another version than MLS 1.0 is refused", () => {
  const { identity } = parseKeyPackage(messages.keyPackage).leafNode
  const versionAt = identity.byteOffset - messages.keyPackage.byteOffset + identity.length + 2
  expect(messages.keyPackage[versionAt]).toBe(1)
  const read = () => parseKeyPackage(changed(messages.keyPackage, versionAt, 2))
  expect(refusalWithPlace(read)).toBe("MLS_UNSUPPORTED capabilities.versions")
})

test("a GroupContext with extra bytes is refused", () => {
  const { bytes } = parseGroupInfo(messages.groupInfo).context
  expect(refusalWithPlace(() => parseGroupContext(bytes))).toBe("read")
  const read = () => parseGroupContext(Uint8Array.of(...bytes, 0))
  expect(refusalWithPlace(read)).toBe("MLS_NON_CANONICAL bytes after the group context")
})

test.each<Kind>(["commit", "application", "groupInfo", "keyPackage"])("%s: the limit is inclusive", (kind) => {
  const { length } = messages[kind]
  expect(refusalWithPlace(() => parsers[kind](messages[kind], length))).toBe("read")
  expect(refusalWithPlace(() => parsers[kind](messages[kind], length - 1))).toMatch(/^MLS_TOO_LARGE mls_/)
})

test("a key package, and a leaf, may have 8 KiB", () => {
  const good = messages.keyPackage
  const withExtension = (size: number) =>
    bentKeyPackage(good, () => ({ extensions: [{ extensionType: 7, extensionData: new Uint8Array(size) }] }))
  const withIdentity = (size: number) =>
    bentKeyPackage(good, ({ leafNode }) => ({
      leafNode: { ...leafNode, credential: { credentialType: "basic", identity: new Uint8Array(size) } },
    }))
  for (const [make, sizeOf, refused] of [
    [withExtension, (bytes: Uint8Array) => parseKeyPackage(bytes).bytes.length, "MLS_TOO_LARGE key_package"],
    [withIdentity, (bytes: Uint8Array) => parseKeyPackage(bytes).leafNode.bytes.length, "MLS_TOO_LARGE leaf_node"],
  ] as const) {
    const around = sizeOf(make(1000)) - 1000
    const largest = 8192 - around
    const read = (size: number) => refusalWithPlace(() => parseKeyPackage(make(size), 2 ** 20))
    expect(read(largest + 1)).toBe(refused)
    expect(read(largest)).toBe(make === withExtension ? "read" : "MLS_TOO_LARGE key_package")
  }
})
