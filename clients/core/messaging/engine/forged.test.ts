import type { GroupInfo } from "ts-mls/groupInfo.js"
import type { KeyPackage } from "ts-mls/keyPackage.js"
import type { LeafNode } from "ts-mls/leafNode.js"
import { encodeMlsMessage, type MLSMessage } from "ts-mls/message.js"
import { encodeRequiredCapabilities, type RequiredCapabilities } from "ts-mls/requiredCapabilities.js"
import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import type { Suite } from "../crypto/suite.ts"
import { encodeEpoch, encodeSecrets, frameOf, groupInfoFits } from "../mls.ts"
import { decoded } from "../testing/bare-seat.ts"
import { refusal, roomOf } from "../testing/cast.ts"
import { forgeCommit, forgeKeyPackage, forgeWelcome, testKit, type WelcomeForgery } from "../testing/forge.ts"
import { lifetime, ourSeat, testEngine, today } from "../testing/our-seat.ts"
import { applyChanges } from "./change.ts"
import { checkLeaf, conversationBinding, membershipProof } from "./leaf.ts"
import { encrypt } from "./message.ts"
import { closed, opened } from "./state.ts"
import { leafAt } from "./tree.ts"

// Complete, signed and encrypted messages of a member or a joiner, each with one wrong field.

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

/** Changes a message without signing it again. */
const bent = (bytes: Uint8Array, change: (message: MLSMessage) => MLSMessage) =>
  encodeMlsMessage(change(decoded(bytes)))

test("a bare proposal and an encrypted handshake message are refused, as frames and as commits", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const { commit } = await a.engine.update(a.current(), { aad })
  const { message } = await a.engine.encrypt(a.current(), utf8("hello"), aad)
  const proposal = bent(commit, (whole) => {
    if (whole.wireformat !== "mls_public_message") return expect.fail("not public")
    const { content, auth } = whole.publicMessage
    const { groupId, epoch, sender, authenticatedData } = content
    const removal = { proposalType: "remove" as const, remove: { removed: 1 } }
    return {
      ...whole,
      publicMessage: {
        content: { groupId, epoch, sender, authenticatedData, contentType: "proposal", proposal: removal },
        auth: { contentType: "proposal", signature: auth.signature },
        senderType: "member",
        membershipTag: new Uint8Array(32),
      },
    }
  })
  const handshake = bent(message, (whole) => {
    if (whole.wireformat !== "mls_private_message") return expect.fail("not private")
    return { ...whole, privateMessage: { ...whole.privateMessage, contentType: "commit" } }
  })
  const framing = async (bytes: Uint8Array) => frameOf(bytes)
  expect(await refusal(framing(proposal))).toBe("MLS_WRONG_WIRE_FORMAT")
  expect(await refusal(framing(handshake))).toBe("MLS_WRONG_WIRE_FORMAT")
  expect(await refusal(b.engine.process(b.current(), proposal, accept))).toBe("MLS_BAD_PROPOSALS")
  expect(await refusal(b.engine.decrypt(b.current(), handshake))).toBe("MLS_WRONG_WIRE_FORMAT")
})

test("a message from a blank leaf, or without sender data, does not open", async () => {
  const { seat } = await roomOf(suite, "A", "B", "C")
  const [a, b] = [seat("A"), seat("B")]
  const nobody = closed({ ...opened(a.current()), ownLeaf: 3 })
  const { message } = await encrypt(testKit(suite), nobody, utf8("hello"), aad)
  expect(await refusal(b.engine.decrypt(b.current(), message))).toBe("MLS_BAD_SENDER")
  const cut = bent(await a.encrypt("hello"), (whole) => {
    if (whole.wireformat !== "mls_private_message") return expect.fail("not private")
    const encryptedSenderData = whole.privateMessage.encryptedSenderData.slice(1)
    return { ...whole, privateMessage: { ...whole.privateMessage, encryptedSenderData } }
  })
  expect(await refusal(b.engine.decrypt(b.current(), cut))).toBe("MLS_MALFORMED")
})

test("an own message is not decrypted: an older state does not know it, and the state that made it does", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const { engine, current } = seat("A")
  const { message, next } = await engine.encrypt(current(), utf8("hello"), aad)
  expect(await refusal(engine.decrypt(current(), message))).toBe("OWN_UNKNOWN")
  expect(await refusal(engine.decrypt(next, message))).toBe("OWN_REPLAY")
  expect(await engine.generationOf(next, message)).toBe(0)
})

test("a member that names another's leaf as the sender does not make its state look older", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const { ownLeaf } = opened(a.current())
  // B has every member's ratchet, and no signature key but its own.
  const asA = closed({ ...opened(b.current()), ownLeaf })
  const { message } = await encrypt(testKit(suite), asA, utf8("hello"), aad)
  expect(await refusal(a.engine.decrypt(a.current(), message))).toBe("MLS_BAD_SIGNATURE")
})

test("a GroupInfo matches a state by its context and its confirmation tag", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const a = seat("A")
  const [one, other] = [await a.engine.update(a.current(), { aad }), await a.engine.update(a.current(), { aad })]
  const infoOf = (bytes: Uint8Array) => {
    const message = decoded(bytes)
    return message.wireformat === "mls_group_info" ? message.groupInfo : expect.fail("no GroupInfo")
  }
  const with_ = (change: object) =>
    bent(one.groupInfo, (whole) =>
      whole.wireformat === "mls_group_info"
        ? { ...whole, groupInfo: { ...whole.groupInfo, ...change } }
        : expect.fail("no GroupInfo"),
    )
  const { confirmationTag, groupContext } = infoOf(other.groupInfo)
  expect(groupInfoFits(one.next, one.groupInfo)).toBe(true)
  expect(groupInfoFits(one.next, with_({ confirmationTag }))).toBe(false)
  expect(groupInfoFits(one.next, with_({ groupContext }))).toBe(false)
})

test("an encoded state with repeated or unordered keys or ratchets is refused", async () => {
  const { room, seat } = await roomOf(suite, "A", "B")
  await room.update("A")
  for (const by of ["A", "B"]) await room.say(by, "so that ratchets are open")
  const { engine, identity, current } = seat("A")
  const [epoch, secrets] = [encodeEpoch(current()), encodeSecrets(current())]
  const { privateKeys, secretTree } = opened(current())
  const at = (secret: Uint8Array | undefined) => Buffer.from(secrets).indexOf(secret ?? expect.fail("no secret"))
  /** Swaps the row that ends with this secret and the one before it. */
  const swapped = (secret: Uint8Array | undefined, width: number) => {
    const second = at(secret) + 32 - width
    const first = second - width
    const rows = [secrets.subarray(second, second + width), secrets.subarray(first, second)]
    return Buffer.concat([secrets.subarray(0, first), ...rows, secrets.subarray(second + width)])
  }
  /** Gives the row that ends with this secret the number of the one before it. */
  const repeated = (secret: Uint8Array | undefined, width: number) => {
    const second = at(secret) + 32 - width
    return Uint8Array.from(secrets, (_, i) => secrets[i >= second && i < second + 4 ? i - width : i] ?? 0)
  }
  const decoding = (bytes: Uint8Array) => refusal(engine.decodeState({ epoch, secrets: bytes }, identity.key))
  expect(await decoding(secrets)).toBe("accepted")
  expect(await decoding(repeated(privateKeys.get(1), 36))).toBe("STATE_TAMPERED")
  expect(await decoding(repeated(secretTree.ratchets.get(1)?.secret, 40))).toBe("STATE_TAMPERED")
  expect(await decoding(swapped(privateKeys.get(1), 36))).toBe("STATE_TAMPERED")
  expect(await decoding(swapped(secretTree.ratchets.get(1)?.secret, 40))).toBe("STATE_TAMPERED")
})

test("stored skipped keys of another number, of a generation to come, or of another version are refused", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  await a.encrypt("skipped")
  await b.decrypt(await a.encrypt("read"))
  const epoch = encodeEpoch(b.current())
  const secrets = encodeSecrets(b.current())
  const decoding = (bytes: Uint8Array) => refusal(b.engine.decodeState({ epoch, secrets: bytes }, b.identity.key))
  // At the end: the count, the leaf, the generation, 16 bytes and 12 bytes.
  const row = 4 + 4 + 16 + 12
  const withU32 = (back: number, value: number) => {
    const bytes = Buffer.from(secrets)
    bytes.writeUInt32BE(value, bytes.length - back)
    return bytes
  }
  expect([secrets[0], await decoding(secrets)]).toEqual([2, "accepted"])
  expect(await decoding(secrets.subarray(0, -1))).toBe("STATE_TAMPERED")
  expect(await decoding(Buffer.concat([secrets, secrets.subarray(-row)]))).toBe("STATE_TAMPERED")
  for (const count of [0, 2, 1_025]) expect(await decoding(withU32(row + 4, count))).toBe("STATE_TAMPERED")
  expect(await decoding(withU32(row - 4, 2))).toBe("STATE_TAMPERED")
  expect(await decoding(withU32(row, 1))).toBe("STATE_TAMPERED")
  expect(await decoding(secrets.with(0, 3))).toBe("STATE_NEWER_VERSION")
  expect(await decoding(secrets.with(0, 1))).toBe("STATE_TAMPERED")
})

test("an empty commit, or one that contradicts its Welcome, cannot be staged", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const { engine, current } = seat("A")
  const keyPackage = await (await ourSeat(suite, "C")).keyPackage()
  expect(await refusal(engine.add(current(), [], { aad }))).toBe("MLS_BAD_PROPOSALS")
  expect(await refusal(engine.remove(current(), [], { aad }))).toBe("MLS_BAD_PROPOSALS")
  const proof = new Uint8Array(1024 * 1024)
  expect(await refusal(engine.add(current(), [keyPackage], { aad, proof }))).toBe("MLS_TOO_LARGE")
})
