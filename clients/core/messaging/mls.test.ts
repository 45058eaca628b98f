import * as fc from "fast-check"
import { expect, test } from "vitest"
import { effort, isLong } from "../../../test/support/effort.ts"
import { makeNodeSuite } from "../../node/crypto/suite.ts"
import { equal, hex, utf8 } from "./crypto/bytes.ts"
import { withIdentities } from "./crypto/identity.ts"
import { makeWebSuite } from "./crypto/web-suite.ts"
import { proveEngine } from "./engine/self-proof.ts"
import { closed, opened } from "./engine/state.ts"
import {
  acceptCommit,
  type CommitChange,
  type Engine,
  encodeEpoch,
  encodeSecrets,
  epochAuthenticator,
  frameOf,
  type GroupState,
  MlsError,
  membersOf,
  openEngine,
  stateTag,
  uncheckedEngine,
} from "./mls.ts"
import { contains, refusal, roomOf } from "./testing/cast.ts"
import { deviceOf, lifetime, newIdentity, ourSeat, testEngine, text, today } from "./testing/our-seat.ts"

const suite = makeNodeSuite()
const aad = utf8("frame")
const accept = () => "accept" as const
const encoded = (state: GroupState) => ({ epoch: encodeEpoch(state), secrets: encodeSecrets(state) })

test("an engine opens after its self-test, with either crypto provider", async () => {
  for (const made of [suite, await makeWebSuite()]) {
    const engine = await openEngine({ suite: made, nowSeconds: () => today, deviceOf })
    expect(engine).toHaveProperty("encrypt")
  }
})

/** The state of a member whose key schedule differs. */
function inOtherEpoch(state: GroupState): GroupState {
  const { epochSecrets, ...inside } = opened(state)
  return closed({ ...inside, epochSecrets: { ...epochSecrets, authenticator: new Uint8Array(32) } })
}

type Read = Awaited<ReturnType<Engine["decrypt"]>>

const reading = (engine: Engine, bend: (read: Read) => Partial<Read>): Partial<Engine> => ({
  async decrypt(state, message) {
    const read = await engine.decrypt(state, message)
    return { ...read, ...bend(read) }
  },
})

test.each<[string, (engine: Engine) => Partial<Engine>]>([
  ["accepts any verdict", (engine) => ({ process: (state, commit) => engine.process(state, commit, accept) })],
  [
    "ignores trailing bytes",
    (engine) => ({
      process: (state, commit, judge) =>
        engine.process(state, commit.at(-1) === 0 ? commit.slice(0, -1) : commit, judge),
    }),
  ],
  [
    "reports a removal without its path",
    (engine) => ({
      async process(state, commit, judge) {
        const processed = await engine.process(state, commit, judge)
        return { ...processed, change: { ...processed.change, path: undefined } }
      },
    }),
  ],
  [
    "refuses trailing bytes for another reason",
    (engine) => ({
      process: async (state, commit, judge) => {
        if (commit.at(-1) === 0) throw new MlsError("REPLAY", "the message is of an earlier epoch")
        return engine.process(state, commit, judge)
      },
    }),
  ],
  [
    "derives another epoch than the committer",
    (engine) => ({
      async process(state, commit, judge) {
        const processed = await engine.process(state, commit, judge)
        return processed.kind === "next" ? { ...processed, next: inOtherEpoch(processed.next) } : processed
      },
    }),
  ],
  [
    "keeps a removed member",
    (engine) => {
      let next: GroupState
      return {
        async process(state, commit, judge) {
          const processed = await engine.process(state, commit, judge)
          if (processed.kind === "next") next = processed.next
          return { ...processed, kind: "next", next }
        },
      }
    },
  ],
  ["names another sender", (engine) => reading(engine, ({ sender }) => ({ sender: { ...sender, leaf: 1 } }))],
  ["decrypts to another text", (engine) => reading(engine, () => ({ plaintext: utf8("before") }))],
  [
    "joins at another epoch",
    (engine) => ({
      async join(input) {
        const joined = await engine.join(input)
        const { context, ...inside } = opened(joined.state)
        const isLast = context.epoch === 5n
        return isLast ? { ...joined, state: closed({ ...inside, context: { ...context, epoch: 6n } }) } : joined
      },
    }),
  ],
  ["cannot join", () => ({ join: () => Promise.reject(new Error("unmerged_leaves")) })],
  [
    "lets a removed member decrypt",
    (engine) => ({
      decrypt: async (state, message) =>
        engine.decrypt(state, message).catch(() => ({
          plaintext: utf8("after"),
          aad,
          sender: { leaf: 0, credential: aad, signatureKey: aad },
          skipped: 0,
          isLate: false,
          next: state,
          finish: () => {},
        })),
    }),
  ],
])("an engine that %s is unsafe", async (_, fault) => {
  const engine = uncheckedEngine({ suite, nowSeconds: () => 1, deviceOf: hex })
  await proveEngine(engine, suite)
  expect(await refusal(proveEngine({ ...engine, ...fault(engine) }, suite))).toBe("ENGINE_UNSAFE")
})

test("no engine opens with faulty primitives", async () => {
  const broken = { ...suite, dh: () => suite.random(32) }
  expect(await refusal(openEngine({ suite: broken, nowSeconds: () => today, deviceOf }))).toBe("ENGINE_UNSAFE")
})

test("a decoded state equals the encoded one", async () => {
  const { room, seat } = await roomOf(suite, "A", "B", "C", "D", "E")
  await room.remove("A", ["C"])
  for (const by of ["A", "B", "A"]) await room.say(by, "so that ratchets are open")
  for (const name of ["A", "B", "D"]) {
    const written = encoded(seat(name).current())
    const read = await seat(name).engine.decodeState(written, seat(name).identity.key)
    expect(encoded(read)).toEqual(written)
    seat(name).state = read
  }
  await room.update("B")
  for (const by of ["A", "B", "D", "E"]) await room.say(by, "still here")
})

test.runIf(isLong)("a state writes about 300 bytes per member and epoch, and 800 per message", async () => {
  const names = Array.from({ length: 64 }, (_, i) => `member-${i}`)
  const { seat } = await roomOf(suite, ...names)
  const { epoch, secrets } = encoded(seat("member-5").current())
  expect(epoch.length / 64).toBeLessThan(300)
  expect(secrets.length).toBeLessThan(800)
})

test("an encoded state that is altered, truncated, mixed or of another version is refused", async () => {
  const { room, seat } = await roomOf(suite, "A", "B")
  const { engine, identity } = seat("A")
  const old = encoded(seat("A").current())
  await room.update("B")
  const { epoch, secrets } = encoded(seat("A").current())
  const decoding = (parts: typeof old) => refusal(engine.decodeState(parts, identity.key))
  expect(await decoding({ epoch, secrets })).toBe("accepted")
  expect(await decoding({ epoch, secrets: old.secrets })).toBe("STATE_TAMPERED")
  expect(await decoding({ epoch: old.epoch, secrets })).toBe("STATE_TAMPERED")
  expect(await decoding({ epoch, secrets: Uint8Array.of(3, ...secrets.slice(1)) })).toBe("STATE_NEWER_VERSION")
  expect(await decoding({ epoch: epoch.with(0, 2), secrets })).toBe("STATE_NEWER_VERSION")
  expect(await decoding({ epoch, secrets: Uint8Array.of(...secrets, 0) })).toBe("STATE_TAMPERED")
  for (let length = 0; length < secrets.length; length += 7) {
    expect(await decoding({ epoch, secrets: secrets.slice(0, length) })).toBe("STATE_TAMPERED")
  }
  for (let at = 1; at < epoch.length; at += 5) {
    const bent = Uint8Array.from(epoch)
    bent[at] = (bent[at] ?? 0) ^ 1
    expect(await decoding({ epoch: bent, secrets })).not.toBe("accepted")
  }
})

test("a state contains no identity key, only a reference that the suite resolves", async () => {
  const { seed, publicKey } = await suite.signatureKeyPair()
  const reference = utf8("keystore entry 7")
  const resolving = withIdentities(suite, (bytes) =>
    equal(bytes, reference) ? (message) => suite.sign(seed, message) : undefined,
  )
  const engine = testEngine(resolving)
  const identity = { credential: utf8("A"), signatureKey: publicKey, key: reference }
  let state = await engine.createGroup({ groupId: utf8("group"), identity, ...lifetime })
  const b = await ourSeat(suite, "B")
  const staged = await engine.add(state, [await b.keyPackage()], { aad })
  await b.join(staged.welcome ?? aad, staged.tree())
  state = acceptCommit(state, staged)
  const { message } = await engine.encrypt(state, utf8("hello"), aad)
  expect((await b.decrypt(message)).text).toBe("hello")
  const made = await engine.newKeyPackage(identity, lifetime)
  const everything = [made.secret, made.keyPackage, ...Object.values(encoded(state)), staged.commit]
  for (const key of [seed, reference]) expect(everything.some((bytes) => contains(bytes, key))).toBe(false)
  expect(everything.some((bytes) => contains(bytes, publicKey))).toBe(true)
})

test("a state exposes its group, epoch and leaf, and none of its secrets", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const state = seat("B").current()
  expect(Object.keys(state).sort()).toEqual(["epoch", "groupId", "ownLeaf"])
  expect(JSON.stringify({ ...state, epoch: Number(state.epoch) })).not.toContain("secret")
  expect(Reflect.ownKeys(state)).toHaveLength(3)
})

test("credential and signature key change without a rejoin", async () => {
  const { room, seat } = await roomOf(suite, "A", "B", "C")
  const a = seat("A")
  const renewed = await newIdentity(suite, "A#2")
  const seen: CommitChange[] = []
  const staged = await a.engine.update(a.current(), { aad, identity: renewed })
  for (const name of ["B", "C"]) {
    const processed = await seat(name).engine.process(seat(name).current(), staged.commit, (change) => {
      seen.push(change)
      return "accept"
    })
    seat(name).state = processed.kind === "next" ? processed.next : undefined
  }
  a.state = acceptCommit(a.current(), staged)
  a.identity = renewed
  const [change] = seen
  expect(change?.path?.before.signatureKey).toEqual(change?.committer.signatureKey)
  expect(text(change?.path?.after.credential ?? aad)).toBe("A#2")
  expect(change?.path?.after.signatureKey).toEqual(renewed.signatureKey)
  await room.say("A", "signed with the new key")
  await a.restart()
  await room.update("A")
  await room.add("A", [await ourSeat(suite, "D")])
  await room.update("B")
  for (const by of room.seats.keys()) await room.say(by, "all of us")
})

test("a leaf keeps its device, by the checks of the committer and of the other members", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const other = await newIdentity(suite, "Z")
  const rotating = seat("A").engine.update(seat("A").current(), { aad, identity: other })
  expect(await refusal(rotating)).toBe("MLS_BAD_LEAF")
  // A malicious A, whose engine maps every credential to one device.
  const dishonest = uncheckedEngine({ suite, nowSeconds: () => today, deviceOf: () => "any" })
  const staged = await dishonest.update(seat("A").current(), { aad, identity: other })
  const processed = seat("B").engine.process(seat("B").current(), staged.commit, accept)
  expect(await refusal(processed)).toBe("MLS_BAD_LEAF")
})

test("a joiner gets the binding, the proof, its own key package and its adder", async () => {
  const a = await newIdentity(suite, "A")
  const engine = testEngine(suite)
  const group = { groupId: utf8("group"), identity: a, binding: utf8("conversation 5"), ...lifetime }
  const state = await engine.createGroup(group)
  const b = await newIdentity(suite, "B")
  const made = await engine.newKeyPackage(b, lifetime)
  const staged = await engine.add(state, [made.keyPackage], { aad, proof: utf8("signed proof") })
  const joined = await engine.join({ ...made, welcome: staged.welcome ?? aad, tree: staged.tree(), identityKey: b.key })
  expect(text(joined.binding ?? aad)).toBe("conversation 5")
  expect(text(joined.proof ?? aad)).toBe("signed proof")
  expect(joined.keyPackageReference).toEqual(made.reference)
  expect([joined.adder.leaf, ...joined.members.map((member) => text(member.credential))]).toEqual([0, "A", "B"])
  expect(stateTag(joined.state)).toEqual(stateTag(staged.next))
  expect(stateTag(joined.state)).not.toEqual(stateTag(state))
  expect(epochAuthenticator(joined.state)).toEqual(epochAuthenticator(staged.next))
  expect(membersOf(joined.state)).toEqual(joined.members)
})

test("a frame and a key package can be inspected before their use", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const a = seat("A")
  const { commit, groupInfo } = await a.engine.update(a.current(), { aad })
  const { message } = await a.engine.encrypt(a.current(), utf8("hello"), utf8("data"))
  expect(frameOf(commit)).toEqual({ kind: "commit", groupId: utf8("a group"), epoch: 1n, aad })
  expect(frameOf(message)).toMatchObject({ kind: "application", epoch: 1n, aad: utf8("data") })
  expect(await refusal((async () => frameOf(groupInfo))())).toBe("MLS_WRONG_WIRE_FORMAT")
  const identity = await newIdentity(suite, "C")
  const { keyPackage, reference } = await a.engine.newKeyPackage(identity, lifetime)
  const { credential, signatureKey } = identity
  const view = await a.engine.inspectKeyPackage(keyPackage)
  expect(view).toEqual({ reference, credential, signatureKey, ...lifetime })
  const bent = Uint8Array.from(keyPackage)
  bent[40] = (bent[40] ?? 0) ^ 1
  expect(await refusal(a.engine.inspectKeyPackage(bent))).toBe("MLS_BAD_SIGNATURE")
})

test("a tree of another group is refused", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const a = seat("A")
  const joining = await ourSeat(suite, "C")
  const staged = await a.engine.add(a.current(), [await joining.keyPackage()], { aad })
  const other = await a.engine.update(a.current(), { aad })
  const welcome = staged.welcome ?? aad
  expect(await refusal(joining.join(welcome, other.tree()))).not.toBe("accepted")
  expect(await refusal(joining.join(welcome, undefined))).toBe("MLS_BAD_WELCOME")
  expect(await refusal(joining.join(welcome, staged.tree()))).toBe("accepted")
})

// Every 11th bit in npm test, all of them in the long form.
test.runIf(isLong)("a flipped bit in a commit, a message, a Welcome or a tree is refused", async () => {
  const { seat } = await roomOf(suite, "A", "B")
  const [a, b] = [seat("A"), seat("B")]
  const joining = await newIdentity(suite, "C")
  const made = await a.engine.newKeyPackage(joining, lifetime)
  const { commit } = await a.engine.update(a.current(), { aad })
  const { message } = await a.engine.encrypt(a.current(), utf8("hello"), aad)
  const { welcome = aad, tree } = await a.engine.add(a.current(), [made.keyPackage], { aad })
  const join = (input: { welcome: Uint8Array; tree: Uint8Array }) =>
    a.engine.join({ ...made, ...input, identityKey: joining.key })
  const ways: [Uint8Array, (bytes: Uint8Array) => Promise<unknown>][] = [
    [commit, (bytes) => b.engine.process(b.current(), bytes, accept)],
    [message, (bytes) => b.engine.decrypt(b.current(), bytes)],
    [welcome, (bytes) => join({ welcome: bytes, tree: tree() })],
    [tree(), (bytes) => join({ welcome, tree: bytes })],
  ]
  for (const [bytes, use] of ways) {
    expect(await refusal(use(bytes))).toBe("accepted")
    for (let bit = 0; bit < bytes.length * 8; bit += effort(11, 1, 1)) {
      const bent = Uint8Array.from(bytes)
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(await refusal(use(bent)), `bit ${bit} of ${bytes.length} bytes`).not.toBe("accepted")
    }
  }
})

// Truncated, repeated, swapped and random pieces.
test(
  "any bytes are refused with a reason",
  async () => {
    const { seat } = await roomOf(suite, "A", "B")
    const [a, b] = [seat("A"), seat("B")]
    const joining = await newIdentity(suite, "C")
    const made = await a.engine.newKeyPackage(joining, lifetime)
    const { commit } = await a.engine.update(a.current(), { aad })
    const { message } = await a.engine.encrypt(a.current(), utf8("hello"), aad)
    const { welcome = aad, tree } = await a.engine.add(a.current(), [made.keyPackage], { aad })
    const join = (input: { welcome: Uint8Array; tree: Uint8Array }) =>
      a.engine.join({ ...made, ...input, identityKey: joining.key })
    const ways: [Uint8Array, (bytes: Uint8Array) => Promise<unknown>][] = [
      [commit, (bytes) => b.engine.process(b.current(), bytes, accept)],
      [message, (bytes) => b.engine.decrypt(b.current(), bytes)],
      [welcome, (bytes) => join({ welcome: bytes, tree: tree() })],
      [tree(), (bytes) => join({ welcome, tree: bytes })],
      [made.keyPackage, (bytes) => a.engine.inspectKeyPackage(bytes)],
      [encodeSecrets(b.current()).slice(0, 80), (bytes) => decode(bytes)],
    ]
    const decode = (secrets: Uint8Array) =>
      b.engine.decodeState({ epoch: encodeEpoch(b.current()), secrets }, b.identity.key)
    const fault = fc.record({
      way: fc.nat({ max: 5 }),
      from: fc.nat(),
      to: fc.nat(),
      put: fc.uint8Array({ maxLength: 40 }),
    })
    await fc.assert(
      fc.asyncProperty(fault, async ({ way, from, to, put }) => {
        const [bytes, use] = ways[way] ?? ([aad, b.engine.inspectKeyPackage] as const)
        const [start, end] = [from % (bytes.length + 1), to % (bytes.length + 1)]
        const bent = Uint8Array.from([...bytes.slice(0, start), ...put, ...bytes.slice(end)])
        fc.pre(!equal(bent, bytes))
        expect(await refusal(use(bent))).not.toBe("accepted")
      }),
      { numRuns: effort(500, 10_000, 100_000) },
    )
  },
  effort(60_000, 600_000, 3600_000),
)

test("messages and commits of another group or epoch, and own ones, are refused with their own reasons", async () => {
  const { room, seat } = await roomOf(suite, "A", "B", "C")
  const stranger = await ourSeat(suite, "A")
  await stranger.create(utf8("another group"))
  const [a, b] = [seat("A"), seat("B")]
  const process = (commit: Uint8Array) => refusal(b.engine.process(b.current(), commit, accept))
  const decrypt = (message: Uint8Array) => refusal(b.engine.decrypt(b.current(), message))
  expect(await process((await stranger.update()).commit)).toBe("MLS_WRONG_GROUP")
  expect(await decrypt(await stranger.encrypt("x"))).toBe("MLS_WRONG_GROUP")
  const own = await b.engine.update(b.current(), { aad })
  expect(await process(own.commit)).toBe("MLS_BAD_SENDER")
  expect(await decrypt(await b.encrypt("x"))).toBe("OWN_REPLAY")
  expect(await process(await a.encrypt("x"))).toBe("MLS_WRONG_WIRE_FORMAT")
  const old = await a.engine.update(a.current(), { aad })
  expect(await decrypt(old.commit)).toBe("MLS_WRONG_WIRE_FORMAT")
  await room.update("C")
  expect(await process(old.commit)).toBe("REPLAY")
  const next = await a.engine.update(a.current(), { aad })
  const later = await a.engine.update(next.next, { aad })
  expect(await process(later.commit)).toBe("EPOCH_GAP")
  expect(await decrypt((await a.engine.encrypt(next.next, aad, aad)).message)).toBe("EPOCH_GAP")
})
