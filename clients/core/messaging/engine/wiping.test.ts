import { expect, test } from "vitest"
import { makeNodeSuite } from "../../../node/crypto/suite.ts"
import type { Suite } from "../crypto/suite.ts"
import { roomOf } from "../testing/cast.ts"
import { forgeWelcome } from "../testing/forge.ts"
import { type OurSeat, ourSeat, testEngine } from "../testing/our-seat.ts"
import type { CommitMessages } from "../testing/seat.ts"
import { secretsIn } from "../testing/secrets.ts"
import { opened } from "./state.ts"

// After an operation, a device's memory has no secrets but those of the resulting state. The suite below records every
// secret that it derives, decrypts or computes with.

/** The label of ExpandWithLabel (RFC 9420 section 8); undefined for HPKE, whose secrets open one message. */
const labelIn = (info: Uint8Array) => /MLS 1\.0 ([a-z]+)/.exec(Buffer.from(info).toString("latin1"))?.[1]

/** Creates a suite that records secrets, each under the label of its first use. */
function watched(): { readonly suite: Suite; readonly seen: Map<Uint8Array, string> } {
  const suite = makeNodeSuite()
  const seen = new Map<Uint8Array, string>()
  // Intermediate secrets of HPKE and HKDF, which live only within one function call.
  const passing = new WeakSet<Uint8Array>()
  const pass = (bytes: Uint8Array) => {
    passing.add(bytes)
    return bytes
  }
  const remember = (label: string, bytes: Uint8Array) => {
    if (!passing.has(bytes) && !seen.has(bytes)) seen.set(bytes, label)
    return bytes
  }
  return {
    seen,
    suite: {
      ...suite,
      extract: async (salt, input) => pass(await suite.extract(remember("salt", salt), input)),
      async expand(key, info, length) {
        const label = labelIn(info)
        const made = await suite.expand(remember("input", key), info, length)
        return label === undefined ? pass(made) : remember(label, made)
      },
      seal: (key, nonce, aad, plaintext) => suite.seal(key, nonce, aad, remember("sealed", plaintext)),
      open: async (...sealed) => remember("opened", await suite.open(...sealed)),
      random: (length) => (length === 32 ? remember("random", suite.random(length)) : suite.random(length)),
      dh: async (privateKey, publicKey) => pass(await suite.dh(remember("private key", privateKey), publicKey)),
      async dhKeyPair(privateKey) {
        const pair = await suite.dhKeyPair(privateKey)
        if (privateKey === undefined) pass(pair.privateKey)
        return pair
      },
    },
  }
}

/**
 * Returns the labels of the secrets that an operation leaves outside the state, including those of the former state.
 */
type Left = (by: OurSeat, operation: () => Promise<unknown>) => Promise<string[]>

const watching =
  (seen: Map<Uint8Array, string>): Left =>
  async (by, operation) => {
    seen.clear()
    if (by.state !== undefined) for (const secret of secretsIn(by.state)) seen.set(secret, "of the state before")
    await operation()
    const kept = secretsIn(by.current())
    const rest = [...seen].filter(([secret]) => secret.some((byte) => byte !== 0) && !kept.has(secret))
    expect(rest.length).toBeLessThan(seen.size)
    return rest.map(([, label]) => label).toSorted()
  }

/** A group of A, B, C and D, all of whom know the private key of the root. */
async function group() {
  const { suite, seen } = watched()
  const { room, seat } = await roomOf(suite, "A", "B", "C", "D")
  for (const by of ["A", "C"]) await room.update(by)
  return { room, seat, joining: await ourSeat(suite, "E"), left: watching(seen) }
}

// ts-mls derives these within one call and does not return them: key and nonce of the sender data or GroupInfo, and the
// epoch secret. Sender data and GroupInfo contain no secret.
const ofSealing = ["key", "nonce", "sealed"]
const ofOpening = ["key", "nonce", "opened"]
const ofEpoch = ["epoch"]
const ofJoining = [...ofEpoch, "nonce", "opened"]

test("a message leaves no secret of its generation, of skipped ones, or of the secret tree above its sender", async () => {
  const { seat, left } = await group()
  const [a, b, c] = [seat("A"), seat("B"), seat("C")]
  const messages: Uint8Array[] = []
  const send = async () => messages.push(await a.encrypt("hello"))
  const read = (by: OurSeat, at: number) => left(by, () => by.decrypt(messages[at] ?? new Uint8Array()))
  // The first message derives the leaf's ratchet from the secret tree, and the second one advances it.
  for (let i = 0; i < 2; i++) expect(await left(a, send)).toEqual(ofSealing)
  for (let i = 2; i < 8; i++) await send()
  for (const at of [0, 1]) expect(await read(b, at)).toEqual(ofOpening)
  // B skips generations 2 to 6. C skips seven, and derives the leaf's ratchet.
  for (const by of [b, c]) expect(await read(by, 7)).toEqual(ofOpening)
})

test("a commit leaves no secret of its path or the previous epoch, neither at its committer nor at other members", async () => {
  const { room, seat, left } = await group()
  for (const by of ["A", "B"]) await room.say(by, "so that ratchets are open")
  const [a, b, c, d] = [seat("A"), seat("B"), seat("C"), seat("D")]
  const commits: Uint8Array[] = []
  const follow = (by: OurSeat) => left(by, () => by.process(commits.at(-1) ?? new Uint8Array()))
  expect(await left(a, async () => commits.push((await a.update()).commit))).toEqual(ofEpoch)
  for (const by of [b, c, d]) expect(await follow(by)).toEqual(ofEpoch)
  expect(await left(c, async () => commits.push((await c.remove(["B"])).commit))).toEqual(ofEpoch)
  for (const by of [a, d]) expect(await follow(by)).toEqual(ofEpoch)
})

test("an addition leaves no joiner secret, and a device that joins keeps only the leaf key of its key package", async () => {
  const { seat, joining, left } = await group()
  const [a, b] = [seat("A"), seat("B")]
  const keyPackage = await joining.keyPackage()
  const messages: CommitMessages[] = []
  const adding = async () => messages.push(await a.add([keyPackage]))
  expect(await left(a, adding)).toEqual([...ofEpoch, ...ofSealing])
  const { commit, welcome, tree } = messages[0] ?? expect.fail("nothing added")
  expect(await left(b, () => b.process(commit))).toEqual(ofEpoch)
  const join = () => joining.join(welcome ?? expect.fail("no Welcome"), tree)
  expect(await left(joining, join)).toEqual(ofJoining)
})

test("a device that joins with a path secret keeps the node's private key, but not the path secret", async () => {
  const { suite, seen } = watched()
  const { seat } = await roomOf(suite, "A", "B", "X")
  const pathSecrets: Uint8Array[] = []
  const listening: Suite = {
    ...suite,
    async expand(key, info, length) {
      const made = await suite.expand(key, info, length)
      if (labelIn(info) === "path") pathSecrets.push(made.slice())
      return made
    },
  }
  const { next } = await testEngine(listening).update(seat("A").current(), { aad: new Uint8Array() })
  const joining = await ourSeat(suite, "C")
  // The path secret of the root, which is derived from that of the parent of A and B.
  const secrets = () => ({ pathSecret: pathSecrets[0] ?? expect.fail("no path secret") })
  const { welcome, tree } = await forgeWelcome(suite, next, await joining.keyPackage(), { secrets })
  expect(await watching(seen)(joining, () => joining.join(welcome, tree))).toEqual(ofJoining)
  expect(opened(joining.current()).privateKeys.get(3)).toEqual(opened(next).privateKeys.get(3))
})

test("a group leaves no secret of its first epoch outside its state", async () => {
  const { joining, left } = await group()
  expect(await left(joining, () => joining.create(new Uint8Array(32)))).toEqual([])
})
