import type { GroupInfo } from "ts-mls/groupInfo.js"
import type { KeyPackage } from "ts-mls/keyPackage.js"
import type { LeafNode } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { encodeRequiredCapabilities, type RequiredCapabilities } from "ts-mls/requiredCapabilities.js"
import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import type { Suite } from "../crypto/suite.ts"
import { refusal, roomOf } from "../testing/cast.ts"
import { forgeCommit, forgeKeyPackage, forgeWelcome, testKit, type WelcomeForgery } from "../testing/forge.ts"
import { lifetime, ourSeat, testEngine, today } from "../testing/our-seat.ts"
import { applyChanges } from "./change.ts"
import { checkLeaf, conversationBinding, membershipProof } from "./leaf.ts"
import { opened } from "./state.ts"
import { leafAt } from "./tree.ts"

// Welcomes, key packages and leaves, complete and signed, each with one wrong field.

const suite = makeNodeSuite()
const aad = utf8("")
const accept = () => "accept" as const

/** C joins A and B by a Welcome that A forged. `withRoot`: the root of the tree has a key. */
async function joinBy(forgery: WelcomeForgery, { withRoot = false } = {}) {
  const { room, seat } = await roomOf(suite, "A", "B", ...(withRoot ? ["X"] : []))
  if (withRoot) await room.update("A")
  const joining = await ourSeat(suite, "C")
  const { welcome, tree } = await forgeWelcome(suite, seat("A").current(), await joining.keyPackage(), forgery)
  return joining.join(welcome, tree)
}

const otherSuite = "MLS_128_DHKEMX25519_CHACHA20POLY1305_SHA256_Ed25519"
const binding = { extensionType: conversationBinding, extensionData: utf8("x") }
const unreadable = { extensionType: "required_capabilities" as const, extensionData: new Uint8Array(1) }
const external = { extensionType: "external_senders" as const, extensionData: new Uint8Array() }

test("an unaltered Welcome is accepted", async () => {
  await joinBy({})
  await joinBy({}, { withRoot: true })
  await joinBy({ info: ({ groupContext }) => ({ groupContext: { ...groupContext, extensions: [binding] } }) })
})

test.each<[string, WelcomeForgery, string, string]>([
  ["of another suite", { welcome: () => ({ cipherSuite: otherSuite }) }, "MLS_WRONG_SUITE", "one cipher suite"],
  [
    "to a group of another suite",
    { info: ({ groupContext }) => ({ groupContext: { ...groupContext, cipherSuite: otherSuite } }) },
    "MLS_WRONG_SUITE",
    "one cipher suite",
  ],
  [
    "to a group with an extension twice",
    { info: ({ groupContext }) => ({ groupContext: { ...groupContext, extensions: [binding, binding] } }) },
    "MLS_BAD_WELCOME",
    "appears twice",
  ],
  [
    "to a group with outside senders",
    { info: ({ groupContext }) => ({ groupContext: { ...groupContext, extensions: [external] } }) },
    "MLS_BAD_WELCOME",
    "does not allow",
  ],
  [
    "to a group that requires what cannot be read",
    { info: ({ groupContext }) => ({ groupContext: { ...groupContext, extensions: [unreadable] } }) },
    "MLS_MALFORMED",
    "do not decode",
  ],
  ["from a blank leaf", { info: () => ({ signer: 3 }) }, "MLS_BAD_WELCOME", "signer's leaf"],
  ["that another key signed", { signedWith: suite.random(32) }, "MLS_BAD_SIGNATURE", "not signed by its signer"],
  [
    "with another confirmation tag",
    { info: () => ({ confirmationTag: suite.random(32) }) },
    "MLS_BAD_CONFIRMATION",
    "confirmation tag",
  ],
  ["with two secrets", { welcome: ({ secrets }) => ({ secrets: [...secrets, ...secrets] }) }, "MLS_BAD_WELCOME", "one"],
  ["with no secret", { welcome: () => ({ secrets: [] }) }, "MLS_BAD_WELCOME", "exactly one secret"],
  [
    "with a pre-shared key",
    { secrets: () => ({ psks: [{ psktype: "external", pskId: utf8("id"), pskNonce: new Uint8Array(32) }] }) },
    "MLS_BAD_WELCOME",
    "pre-shared",
  ],
  ["with a long joiner secret", { secrets: () => ({ joinerSecret: suite.random(33) }) }, "MLS_BAD_WELCOME", "32 bytes"],
  [
    "with a path secret of a blank node",
    { secrets: () => ({ pathSecret: suite.random(32) }) },
    "MLS_BAD_WELCOME",
    "a blank node",
  ],
])("a Welcome %s is refused", async (_, forgery, reason, message) => {
  const joining = joinBy(forgery)
  await expect(joining).rejects.toMatchObject({ reason, message: expect.stringContaining(message) })
})

test.each([
  ["of another tree", 32, "of another tree"],
  ["of 31 bytes", 31, "has 32 bytes"],
])("a Welcome with a path secret %s is refused", async (_, length, message) => {
  const joining = joinBy({ secrets: () => ({ pathSecret: suite.random(length) }) }, { withRoot: true })
  await expect(joining).rejects.toMatchObject({ reason: "MLS_BAD_WELCOME", message: expect.stringContaining(message) })
})

test("a device that joins with a path secret skips the blank nodes above it", async () => {
  const others = ["C", "D", "E", "F", "G", "H"]
  const { room, seat } = await roomOf(suite, "A", "B", ...others, "I")
  // The other half of A's side is blank, so A's path has no key below the root.
  await room.remove("A", others.slice(1))
  const pathSecrets: Uint8Array[] = []
  const listening: Suite = {
    ...suite,
    async expand(key, info, length) {
      const made = await suite.expand(key, info, length)
      if (Buffer.from(info).includes("MLS 1.0 path")) pathSecrets.push(made.slice())
      return made
    },
  }
  const { next } = await testEngine(listening).update(seat("A").current(), { aad })
  const joining = await ourSeat(suite, "J")
  const secrets = () => ({ pathSecret: pathSecrets[0] ?? expect.fail("no path secret") })
  const { welcome, tree } = await forgeWelcome(suite, next, await joining.keyPackage(), { secrets })
  await joining.join(welcome, tree)
  const [known, made] = [joining.current(), next].map((state) => opened(state).privateKeys)
  expect([...(known?.keys() ?? [])]).toEqual([6, 3, 15])
  expect([3, 15].map((node) => known?.get(node))).toEqual([3, 15].map((node) => made?.get(node)))
})

test("binding and proof of a Welcome are found among other extensions, none of which counts as the tree", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const joining = await ourSeat(suite, "C")
  const made = await joining.engine.newKeyPackage(joining.identity, lifetime)
  const required = {
    extensionType: "required_capabilities" as const,
    extensionData: encodeRequiredCapabilities({ extensionTypes: [], proposalTypes: [], credentialTypes: [] }),
  }
  const proof = { extensionType: membershipProof, extensionData: utf8("a proof") }
  const other = { extensionType: 0xf0b0, extensionData: utf8("another") }
  const info = ({ groupContext }: GroupInfo) => ({
    groupContext: { ...groupContext, extensions: [required, binding] },
    extensions: [other, proof],
  })
  const { welcome, tree } = await forgeWelcome(suite, seat("A").current(), made.keyPackage, { info })
  const join = (given: Uint8Array | undefined) =>
    joining.engine.join({ ...made, welcome, tree: given, identityKey: joining.identity.key })
  const joined = await join(tree)
  expect([joined.binding, joined.proof]).toEqual([utf8("x"), utf8("a proof")])
  await expect(join(undefined)).rejects.toMatchObject({
    reason: "MLS_BAD_WELCOME",
    message: expect.stringContaining("no tree"),
  })
})

test("a device neither adds itself nor joins with the secret of another key package", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const a = seat("A")
  const { identity } = await ourSeat(suite, "C")
  const made = await a.engine.newKeyPackage(identity, lifetime)
  const join = (input: { readonly welcome: Uint8Array; readonly tree: Uint8Array }, { secret } = made) =>
    a.engine.join({ ...made, ...input, secret, identityKey: identity.key })
  const itself = { info: () => ({ signer: 2 }), signedWith: identity.key }
  const forged = await forgeWelcome(suite, a.current(), made.keyPackage, itself)
  await expect(join(forged)).rejects.toMatchObject({
    reason: "MLS_BAD_WELCOME",
    message: "the signer of a Welcome is another member",
  })
  const honest = await forgeWelcome(suite, a.current(), made.keyPackage, {})
  const other = await a.engine.newKeyPackage(identity, lifetime)
  const mixed = Uint8Array.of(...made.secret.subarray(0, 33), ...other.secret.subarray(33))
  expect(await refusal(join(honest, { ...made, secret: mixed }))).toBe("MLS_BAD_WELCOME")
  const later = Uint8Array.of(2, ...made.secret.subarray(1))
  expect(await refusal(join(honest, { ...made, secret: later }))).toBe("STATE_NEWER_VERSION")
  for (const secret of [made.secret.subarray(0, 64), Uint8Array.of(...made.secret, 0)]) {
    expect(await refusal(join(honest, { ...made, secret }))).toBe("STATE_TAMPERED")
  }
  expect(await refusal(join(honest))).toBe("accepted")
})

test("a device whose leaf has another credential, with its own key, does not join", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [joining, other] = [await ourSeat(suite, "C"), await ourSeat(suite, "Z")]
  const bytes = await joining.keyPackage()
  const { credential, signatureKey } = other.identity
  const named = {
    signaturePublicKey: signatureKey,
    credential: { credentialType: "basic" as const, identity: credential },
  }
  const keyPackage = await forgeKeyPackage(suite, bytes, other.identity, ({ leafNode }) => ({
    leafNode: { ...leafNode, ...named },
  }))
  const added = encodeMlsMessage({ version: "mls10", wireformat: "mls_key_package", keyPackage })
  const { welcome, tree } = await forgeWelcome(suite, seat("A").current(), bytes, { added })
  await expect(joining.join(welcome, tree)).rejects.toThrow("the key package's leaf is not in the tree")
})

/** Returns B's reaction to A's commit that adds this key package. */
async function answerTo(bend: (keyPackage: KeyPackage) => Partial<KeyPackage>) {
  const { seat } = await roomOf(suite, "A", "B")
  const joining = await ourSeat(suite, "C")
  const keyPackage = await forgeKeyPackage(suite, await joining.keyPackage(), joining.identity, bend)
  const commit = await forgeCommit(suite, seat("A").current(), {
    proposals: [{ proposalType: "add", add: { keyPackage } }],
  })
  return seat("B").engine.process(seat("B").current(), commit, accept)
}

const withLeaf = (change: (leaf: LeafNode) => object) => (keyPackage: KeyPackage) => ({
  leafNode: { ...keyPackage.leafNode, ...change(keyPackage.leafNode) },
})
const many = (count: number) => new Array<number>(count).fill(0x1a1a)
const able = (change: Partial<LeafNode["capabilities"]>) =>
  withLeaf(({ capabilities }) => ({ capabilities: { ...capabilities, ...change } }))

test.each<[string, (keyPackage: KeyPackage) => Partial<KeyPackage>, string, string]>([
  // A valid key package fails last, at the forged commit's confirmation tag.
  ["that is unaltered", () => ({}), "MLS_BAD_CONFIRMATION", "confirmation tag"],
  ["of another suite", () => ({ cipherSuite: otherSuite }), "MLS_WRONG_SUITE", "one cipher suite"],
  ["with a short init key", () => ({ initKey: suite.random(31) }), "MLS_BAD_KEY_PACKAGE", "32 bytes"],
  [
    "with one key as init key and leaf key",
    ({ leafNode }) => ({ initKey: leafNode.hpkePublicKey }),
    "MLS_BAD_KEY_PACKAGE",
    "the same",
  ],
  [
    "with as many capabilities as a leaf may have",
    able({ proposals: many(32 - 5) }),
    "MLS_BAD_CONFIRMATION",
    "confirmation tag",
  ],
  ["with more capabilities", able({ proposals: many(33 - 5) }), "MLS_TOO_LARGE", "than a key package may have"],
  [
    "with more extensions",
    (keyPackage) => ({ ...able({ proposals: many(32 - 5) })(keyPackage), extensions: [binding] }),
    "MLS_TOO_LARGE",
    "than a key package may have",
  ],
  ["with a short leaf key", withLeaf(() => ({ hpkePublicKey: suite.random(31) })), "MLS_BAD_LEAF", "an X25519 key"],
  [
    "with a short signature key",
    withLeaf(() => ({ signaturePublicKey: suite.random(31) })),
    "MLS_BAD_LEAF",
    "an Ed25519 key",
  ],
  ["without this version", able({ versions: [] }), "MLS_BAD_LEAF", "this version"],
  ["without this suite", able({ ciphersuites: [] }), "MLS_BAD_LEAF", "the cipher suite"],
  ["without credentials", able({ credentials: [] }), "MLS_BAD_LEAF", "basic credentials"],
  [
    "with an extension that its capabilities omit",
    withLeaf(() => ({ extensions: [{ extensionType: 0xf0b0, extensionData: new Uint8Array() }] })),
    "MLS_BAD_LEAF",
    "in use",
  ],
])("a key package %s is refused", async (_, bend, reason, message) => {
  await expect(answerTo(bend)).rejects.toMatchObject({ reason, message: expect.stringContaining(message) })
})

test("a leaf must support the group's required capabilities", async () => {
  const { seat } = await roomOf(suite, "A")
  const { tree, context } = opened(seat("A").current())
  const joining = await ourSeat(suite, "C")
  const { leafNode } = await forgeKeyPackage(suite, await joining.keyPackage(), joining.identity, () => ({}))
  const check = (extensionData: Uint8Array) => {
    const required = { extensionType: "required_capabilities" as const, extensionData }
    return refusal(checkLeaf(testKit(suite), leafNode, { ...context, leaf: 0, extensions: [required] }))
  }
  const requiring = (change: Partial<RequiredCapabilities>) =>
    check(encodeRequiredCapabilities({ extensionTypes: [], proposalTypes: [], credentialTypes: [], ...change }))
  expect(leafAt(tree, 0)?.capabilities).toEqual(leafNode.capabilities)
  expect(await requiring({ extensionTypes: [conversationBinding], credentialTypes: ["basic"] })).toBe("accepted")
  expect(await requiring({ extensionTypes: [0xf0ff] })).toBe("MLS_BAD_LEAF")
  expect(await requiring({ proposalTypes: [0xf0ff] })).toBe("MLS_BAD_LEAF")
  expect(await requiring({ credentialTypes: ["x509"] })).toBe("MLS_BAD_LEAF")
  expect(await check(new Uint8Array())).toBe("MLS_MALFORMED")
  expect(await check(new Uint8Array(4))).toBe("MLS_NON_CANONICAL")
})

test("a group has at most a thousand leaves", async () => {
  const { seat } = await roomOf(suite, "A")
  const { tree, context } = opened(seat("A").current())
  const joining = await ourSeat(suite, "C")
  const keyPackage = await forgeKeyPackage(suite, await joining.keyPackage(), joining.identity, () => ({}))
  const own = leafAt(tree, 0) ?? expect.fail("no leaf")
  const add = (members: number) => {
    const nodes = Array.from({ length: 2047 }, (_, index) => {
      if (index % 2 === 1 || index / 2 >= members) return undefined
      const [hpkePublicKey, signaturePublicKey] = [suite.random(32), suite.random(32)]
      const credential = { credentialType: "basic" as const, identity: utf8(`member ${index}`) }
      return { nodeType: "leaf" as const, leaf: { ...own, hpkePublicKey, signaturePublicKey, credential } }
    })
    const changes = { adds: [keyPackage], removes: [] }
    return refusal(applyChanges(testKit(suite), { nodes, hashes: [] }, changes, 0, context, today))
  }
  expect([await add(999), await add(1000)]).toEqual(["accepted", "MLS_GROUP_FULL"])
})
