import { readdir, readFile } from "node:fs/promises"
import { createCommit } from "ts-mls/createCommit.js"
import { decryptSenderData } from "ts-mls/privateMessage.js"
import { decodeRatchetTree, encodeRatchetTree } from "ts-mls/ratchetTree.js"
import { expect, test } from "vitest"
import { isLong } from "../../../../test/support/effort.ts"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import { utf8 } from "../crypto/bytes.ts"
import { acceptCommit, discardCommit, encodeEpoch, encodeSecrets, type GroupState } from "../mls.ts"
import { bareSeat, bareSuite, decoded } from "../testing/bare-seat.ts"
import { contains, refusal, roomOf } from "../testing/cast.ts"
import { testKit } from "../testing/forge.ts"
import { ourSeat, text, today } from "../testing/our-seat.ts"
import { openRoom } from "../testing/seat.ts"
import { encrypt } from "./message.ts"
import { makeSecretTree, secretsOf, takeKey } from "./secret-tree.ts"
import { closed, epochSecretList, opened } from "./state.ts"
import { leafAt, type Tree } from "./tree.ts"
import { decodeTree, encodeTree } from "./tree-bytes.ts"

const suite = makeNodeSuite()
const aad = utf8("frame")
const accept = () => "accept" as const

/** The secrets that belong to one epoch only. */
function epochSecretsOf(state: GroupState): Uint8Array[] {
  const { epochSecrets, secretTree } = opened(state)
  return [...epochSecretList(epochSecrets), ...secretsOf(secretTree)]
}
const copies = (secrets: readonly Uint8Array[]) => secrets.map((secret) => Uint8Array.from(secret))
const isZero = (secret: Uint8Array) => secret.every((byte) => byte === 0)

test("E8: a message authenticates its sender's leaf and its additional data", async () => {
  const { seat } = await roomOf(suite, "A", "B", "C")
  const [a, c] = [seat("A"), seat("C")]
  const { message } = await a.engine.encrypt(a.current(), utf8("hello"), aad)
  const read = await c.engine.decrypt(c.current(), message)
  expect([read.sender.leaf, text(read.sender.credential), text(read.aad)]).toEqual([0, "A", "frame"])

  // A knows every ratchet of the group, so it can encrypt as B, but not sign as B.
  const asB = closed({ ...opened(a.current()), ownLeaf: 1 })
  const forged = await encrypt(testKit(suite), asB, utf8("I am B"), aad)
  const cs = await bareSuite()
  const wire = decoded(forged.message)
  if (wire.wireformat !== "mls_private_message") throw new Error("not a private message")
  const claimed = await decryptSenderData(wire.privateMessage, opened(c.current()).epochSecrets.senderData, cs)
  expect(claimed?.leafIndex).toBe(1)
  expect(await refusal(c.engine.decrypt(c.current(), forged.message))).toBe("MLS_BAD_SIGNATURE")
})

test("two messages of one restored state do not share a nonce", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const guards: (Uint8Array | undefined)[] = []
  const ciphertexts: Uint8Array[] = []
  for (let i = 0; i < 2; i++) {
    const { message } = await a.engine.encrypt(a.current(), utf8("the same text"), aad)
    const wire = decoded(message)
    if (wire.wireformat !== "mls_private_message") throw new Error("not a private message")
    const { senderData } = opened(b.current()).epochSecrets
    guards.push((await decryptSenderData(wire.privateMessage, senderData, await bareSuite()))?.reuseGuard)
    ciphertexts.push(wire.privateMessage.ciphertext)
  }
  expect(guards[0]).not.toEqual(guards[1])
  expect(ciphertexts[0]).not.toEqual(ciphertexts[1])
})

test("E9: a stolen state has only the keys of skipped generations, and decrypts no consumed message", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const messages = [await a.encrypt("zero"), await a.encrypt("one"), await a.encrypt("two"), await a.encrypt("three")]
  const first = messages[2] ?? new Uint8Array()
  const before = opened(b.current()).secretTree
  const opening = await b.engine.decrypt(b.current(), first)
  const secrets = copies(secretsOf(before))
  opening.finish()
  expect(secretsOf(before).every(isZero)).toBe(true)
  const stolen = encodeSecrets(opening.next)
  expect(secrets.some((secret) => contains(stolen, secret))).toBe(false)
  expect([opening.skipped, opening.isLate]).toEqual([2, false])
  expect(await refusal(b.engine.decrypt(opening.next, first))).toBe("REPLAY")
  const last = await b.engine.decrypt(opening.next, messages[3] ?? new Uint8Array())
  expect([text(last.plaintext), last.skipped]).toEqual(["three", 0])
})

test("a skipped message is decrypted once, also by a restored state", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const messages = [await a.encrypt("zero"), await a.encrypt("one"), await a.encrypt("two")]
  const [zero = aad, one = aad, two = aad] = messages
  let state = (await b.engine.decrypt(b.current(), two)).next
  const stored = { epoch: encodeEpoch(state), secrets: encodeSecrets(state) }
  state = await b.engine.decodeState(stored, b.identity.key)
  expect(encodeSecrets(state)).toEqual(stored.secrets)
  // The last byte is in the tag, so the key is used in vain, and stays.
  const bent = one.with(-1, 255 - (one.at(-1) ?? 0))
  expect(await refusal(b.engine.decrypt(state, bent))).toBe("MLS_UNDECRYPTABLE")
  for (const [message, expected] of [
    [one, "one"],
    [zero, "zero"],
  ] as const) {
    const kept = opened(state).secretTree.skipped
    const late = await b.engine.decrypt(state, message)
    expect([text(late.plaintext), late.isLate, late.skipped]).toEqual([expected, true, 0])
    late.finish()
    const used = kept.filter((key) => !opened(late.next).secretTree.skipped.includes(key))
    expect(used.flatMap(({ key, nonce }) => [isZero(key), isZero(nonce)])).toEqual([true, true])
    state = late.next
    expect(await refusal(b.engine.decrypt(state, message))).toBe("REPLAY")
  }
  expect(opened(state).secretTree.skipped).toEqual([])
  expect(encodeSecrets(state)[0]).toBe(1)
})

test("keys of at most 256 skipped generations of a sender are kept, and of at most 1024 of a group", async () => {
  const kit = testKit(suite)
  let tree = makeSecretTree(8 * 2 - 1, suite.random(32))
  const skip = async (leaf: number, generation: number) => {
    const before = tree.skipped
    const taken = await takeKey(kit, tree, leaf, generation)
    const deleted = before.filter((one) => !taken.next.skipped.includes(one))
    expect(deleted.every(({ key, nonce }) => taken.spent.includes(key) && taken.spent.includes(nonce))).toBe(true)
    tree = taken.next
    return deleted.length
  }
  const generationsOf = (leaf: number) =>
    tree.skipped.filter((one) => one.leaf === leaf).map(({ generation }) => generation)
  await skip(0, 300)
  expect([generationsOf(0).length, generationsOf(0)[0], generationsOf(0).at(-1)]).toEqual([256, 44, 299])
  expect(await refusal(takeKey(kit, tree, 0, 43))).toBe("REPLAY")
  // Two more of this sender replace its two oldest.
  expect(await skip(0, 303)).toBe(2)
  expect([generationsOf(0)[0], generationsOf(0).at(-1)]).toEqual([46, 302])
  for (const leaf of [1, 2, 3]) expect(await skip(leaf, 256)).toBe(0)
  expect(tree.skipped).toHaveLength(1_024)
  expect(await skip(4, 10)).toBe(10)
  expect([tree.skipped.length, generationsOf(0).length, generationsOf(4).length]).toEqual([1_024, 246, 10])
  const all = secretsOf(tree)
  expect(tree.skipped.every(({ key, nonce }) => all.includes(key) && all.includes(nonce))).toBe(true)
})

test("message sizes are padded to 256 bytes, to powers of two, and to steps of 32 KiB", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const { engine, current } = seat("A")
  const sizeOf = async (length: number) => {
    const wire = decoded((await engine.encrypt(current(), new Uint8Array(length), aad)).message)
    return wire.wireformat === "mls_private_message" ? wire.privateMessage.ciphertext.length - tagBytes : 0
  }
  const tagBytes = 16
  const signatureBytes = 66
  // The length of the text takes one byte below 64, two below 16 KiB, and four above.
  const fits = [
    256 - signatureBytes - 2,
    512 - signatureBytes - 2,
    32_768 - signatureBytes - 4,
    65_536 - signatureBytes - 4,
  ]
  expect(await Promise.all([0, 1, ...fits].map(sizeOf))).toEqual([256, 256, 256, 512, 32_768, 65_536])
  expect(await Promise.all(fits.map((length) => sizeOf(length + 1)))).toEqual([512, 1_024, 65_536, 98_304])
})

test("up to 2000 generations may be skipped at once, from any generation", async () => {
  const kit = testKit(suite)
  let tree = makeSecretTree(1, suite.random(32))
  for (const generation of [2000, 2001, 4001]) {
    const taken = await takeKey(kit, tree, 0, generation)
    expect(taken.generation).toBe(generation)
    tree = taken.next
  }
  // The next generation is 4002.
  expect(await refusal(takeKey(kit, tree, 0, 6003))).toBe("EPOCH_GAP")
  expect((await takeKey(kit, tree, 0, 6002)).generation).toBe(6002)
})

test.runIf(isLong)("a generation too far ahead is refused before its keys are derived", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  let { state } = a
  if (state === undefined) throw new Error("no state")
  for (let i = 0; i < 2001; i++) state = (await a.engine.encrypt(state, utf8(""), aad)).next
  const ahead = await a.engine.encrypt(state, utf8("2001"), aad)
  expect(await refusal(b.engine.decrypt(b.current(), ahead.message))).toBe("EPOCH_GAP")
})

test("E10: a staged state has no secrets of the previous epoch, and accepting wipes that epoch", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const a = seat("A")
  await a.encrypt("so that a ratchet is open")
  const before = a.current()
  const old = copies(epochSecretsOf(before))
  const staged = await a.engine.remove(before, [1], { aad })
  const encoded = encodeSecrets(staged.next)
  expect(old.filter((secret) => contains(encoded, secret))).toEqual([])
  expect(epochSecretsOf(before).some(isZero)).toBe(false)
  acceptCommit(before, staged)
  expect(epochSecretsOf(before).every(isZero)).toBe(true)
  expect(encodeSecrets(staged.next)).toEqual(encoded)
})

test("E10: discarding a commit wipes it, and the current epoch stays usable", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const lost = await a.engine.update(a.current(), { aad })
  const won = await b.engine.update(b.current(), { aad })
  const own = [...opened(lost.next).privateKeys.values()]
  discardCommit(a.current(), lost)
  expect([...epochSecretsOf(lost.next), ...own].every(isZero)).toBe(true)
  expect(await a.process(won.commit)).toBe(true)
  b.state = acceptCommit(b.current(), won)
  expect(a.authenticator()).toBe(b.authenticator())
})

test("E11: the bare engine retains past epochs although configured for none; ours wipes the previous one", async () => {
  const bare = await bareSeat("A")
  await openRoom(bare, utf8("E11"))
  if (bare.state === undefined) throw new Error("no state")
  const { clientConfig } = bare.state
  const keyRetentionConfig = { ...clientConfig.keyRetentionConfig, retainKeysForEpochs: 0 }
  let kept = { ...bare.state, clientConfig: { ...clientConfig, keyRetentionConfig } }
  for (let i = 0; i < 3; i++) kept = (await createCommit({ state: kept, cipherSuite: await bareSuite() })).newState
  expect(kept.historicalReceiverData.size).toBe(3)

  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const late = await a.encrypt("of the epoch before")
  const before = b.current()
  const old = copies(epochSecretsOf(before))
  const { commit } = await a.update()
  await b.process(commit)
  expect(epochSecretsOf(before).every(isZero)).toBe(true)
  const encoded = encodeSecrets(b.current())
  expect(old.some((secret) => contains(encoded, secret))).toBe(false)
  expect(await refusal(b.engine.decrypt(b.current(), late))).toBe("REPLAY")
})

test("E11: the end of an epoch wipes the keys of its skipped messages", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const withheld = await a.encrypt("withheld")
  await b.decrypt(await a.encrypt("delivered"))
  const { skipped } = opened(b.current()).secretTree
  expect(skipped).toHaveLength(1)
  await b.process((await a.update()).commit)
  expect(skipped.every(({ key, nonce }) => isZero(key) && isZero(nonce))).toBe(true)
  expect(await refusal(b.engine.decrypt(b.current(), withheld))).toBe("REPLAY")
})

test("private keys of replaced nodes are deleted", async () => {
  const { room, seat } = await roomOf(suite, "A", "B", "C", "D")
  for (const by of ["A", "B", "C"]) await room.update(by)
  const before = copies([...opened(seat("A").current()).privateKeys.values()])
  await room.update("D")
  await room.update("A")
  const encoded = encodeSecrets(seat("A").current())
  expect(before.filter((key) => contains(encoded, key))).toEqual([])
})

test("E13: non-canonical bytes are refused by every input", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const joining = await ourSeat(suite, "C")
  const keyPackage = await joining.keyPackage()
  const staged = await a.engine.add(a.current(), [keyPackage], { aad })
  const { welcome = new Uint8Array() } = staged
  const message = await a.encrypt("hello")
  const commit = staged.commit
  const trailing = (bytes: Uint8Array) => Uint8Array.from([...bytes, 0])
  // Encodes the length of the group id, 7, after the MLSMessage header in two bytes instead of one.
  const longLength = (bytes: Uint8Array) => Uint8Array.from([...bytes.slice(0, 4), 0x40, ...bytes.slice(4)])
  expect(decoded(trailing(commit)).wireformat).toBe("mls_public_message")
  expect(decoded(longLength(commit)).wireformat).toBe("mls_public_message")
  const attempts = [trailing, longLength].flatMap((bend) => [
    b.engine.process(b.current(), bend(commit), accept),
    b.engine.decrypt(b.current(), bend(message)),
  ])
  for (const attempt of attempts) expect(await refusal(attempt)).toBe("MLS_NON_CANONICAL")
  expect(await refusal(joining.join(trailing(welcome), staged.tree()))).toBe("MLS_NON_CANONICAL")
  expect(await refusal(joining.join(welcome, trailing(staged.tree())))).toBe("MLS_NON_CANONICAL")
  const adding = a.engine.add(a.current(), [trailing(keyPackage)], { aad })
  expect(await refusal(adding)).toBe("MLS_NON_CANONICAL")
})

test.each([
  ["expired", { notBefore: today - 20, notAfter: today }, "MLS_BAD_KEY_PACKAGE"],
  ["valid from tomorrow", { notBefore: today + 86_400, notAfter: today + 90_000 }, "MLS_BAD_KEY_PACKAGE"],
  ["valid for a year", { notBefore: today, notAfter: today + 365 * 86_400 }, "MLS_BAD_KEY_PACKAGE"],
  ["valid for 100 days", { notBefore: today, notAfter: today + 100 * 86_400 }, "accepted"],
  ["valid for a second more", { notBefore: today, notAfter: today + 100 * 86_400 + 1 }, "MLS_BAD_KEY_PACKAGE"],
  ["valid until the next second", { notBefore: today, notAfter: today + 1 }, "accepted"],
])("E13: a key package that is %s", async (_, span, expected) => {
  const { seat } = await roomOf(suite, "A", "B")
  const a = seat("A")
  const { keyPackage } = await a.engine.newKeyPackage((await ourSeat(suite, "C")).identity, span)
  const adding = a.engine.add(a.current(), [keyPackage], { aad })
  expect(await refusal(adding)).toBe(expected)
})

test("E13: a message above the size limit of its kind is refused before it is parsed", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const { engine, current } = seat("B")
  expect(await refusal(engine.decrypt(current(), new Uint8Array(256 * 1024 + 1)))).toBe("MLS_TOO_LARGE")
  expect(await refusal(engine.process(current(), new Uint8Array(1536 * 1024 + 1), accept))).toBe("MLS_TOO_LARGE")
  expect(await refusal(engine.encrypt(current(), new Uint8Array(220 * 1024 + 1), aad))).toBe("MLS_TOO_LARGE")
  expect(await refusal(engine.encrypt(current(), utf8(""), new Uint8Array(256 * 1024)))).toBe("MLS_TOO_LARGE")
  const large = engine.update(current(), { aad: new Uint8Array(1536 * 1024) })
  expect(await refusal(large)).toBe("MLS_TOO_LARGE")
  const { message } = await engine.encrypt(current(), new Uint8Array(220 * 1024), aad)
  const a = seat("A")
  expect((await a.engine.decrypt(a.current(), message)).plaintext.length).toBe(220 * 1024)
})

test.runIf(isLong)(
  "E17: a tree of any size encodes without recursion, and one of more than 1000 leaves is refused",
  async () => {
    const { seat } = await roomOf(suite, "A")
    const leaf = leafAt(opened(seat("A").current()).tree, 0)
    if (leaf === undefined) throw new Error("no leaf")
    const treeOf = (leaves: number): Tree => {
      const nodes = Array.from({ length: leaves * 2 - 1 }, (_, index) =>
        index % 2 === 0 ? { nodeType: "leaf" as const, leaf } : undefined,
      )
      return { nodes, hashes: [] }
    }
    const large = treeOf(16_384)
    expect(() => encodeRatchetTree(large.nodes)).toThrow(RangeError)
    expect(encodeTree(large).length).toBeGreaterThan(16_384 * 100)
    const [small, empty] = [treeOf(1000), treeOf(0)]
    expect(encodeTree(small)).toEqual(encodeRatchetTree(small.nodes))
    expect(decodeTree(encodeTree(small)).nodes.filter((node) => node !== undefined).length).toBe(1000)
    expect(decodeRatchetTree(encodeTree(small), 0)).toBeDefined()
    const decoding = (async () => decodeTree(encodeTree(treeOf(1001))))()
    expect(await refusal(decoding)).toBe("MLS_GROUP_FULL")
    // Three nodes, the last of which is blank: the length, and one byte for each blank node.
    const nodes = encodeTree({ nodes: [undefined, ...treeOf(1).nodes], hashes: [] })
    const ending = Uint8Array.from([...nodes, 0])
    new DataView(ending.buffer).setUint16(0, new DataView(nodes.buffer, nodes.byteOffset).getUint16(0) + 1)
    for (const bytes of [ending, encodeTree(empty), Uint8Array.of(1, 0)]) {
      expect(await refusal((async () => decodeTree(bytes))())).toBe("MLS_BAD_TREE")
    }
  },
)

test("E19 and E6: no file makes OKP keys by generateKeyPairSync or calls processMessage", async () => {
  const folders = ["../../../node/crypto/", "../crypto/", "./"].map((path) => new URL(path, import.meta.url))
  let files = 0
  for (const folder of folders) {
    for (const name of await readdir(folder)) {
      if (!name.endsWith(".ts") || name.endsWith(".test.ts")) continue
      files++
      const code = (await readFile(new URL(name, folder), "utf8")).replace(/\/\*\*[\s\S]*?\*\//g, "")
      expect(code).not.toMatch(/generateKeyPair(Sync)?\(|processMessage\b|processPrivateMessage/)
    }
  }
  expect(files).toBeGreaterThan(20)
})
