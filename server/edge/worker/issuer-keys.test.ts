import { randomBytes } from "node:crypto"
import { toHex } from "@signet/canonical/bytes"
import { keyIdOf } from "@signet/canonical/hash"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { beforeAll, expect, test } from "vitest"
import { type IssuerPublicKey, rootPublicKey, signKeySet } from "../../keys/root-key.ts"
import { createIssuerKeys } from "./issuer-keys.ts"

const issuer = "https://auth.example"
const seed = () => new Uint8Array(randomBytes(32))
const [root, receiptKey] = [seed(), seed()]
const start = 1_800_000_000_000
const minute = 60_000

const keyOf = (secret: Uint8Array, purpose: IssuerPublicKey["purpose"] = "RECEIPT"): IssuerPublicKey => ({
  purpose,
  generation: 1,
  publicKey: nodeSigner(secret).publicKey,
  createdAtMs: start,
})
const setOf = async (version: bigint, keys: readonly IssuerPublicKey[], by = root, of = issuer): Promise<string> => {
  const signed = await signKeySet({ seed: by, issuer: of, keys, version, nowMs: start, days: 30 })
  return Buffer.from(signed.issuerKeySet).toString("base64")
}

let first: string
beforeAll(async () => {
  first = await setOf(1n, [keyOf(receiptKey)])
})

/** An isolate, an auth service and a key-value store, each of which a test may replace or remove. */
function setUp() {
  const state = {
    nowMs: start,
    set: first,
    isUp: true,
    asked: 0,
    faults: 0,
    kept: new Map<string, { text: string; fetchedAtMs: number }>(),
  }
  const isolate = () => {
    let looking: Promise<unknown> = Promise.resolve()
    const keys = createIssuerKeys({
      settings: { issuer, authUrl: "https://auth.internal", rootKey: rootPublicKey(root), receiptKey },
      cache: {
        get: async () => state.kept.get("set"),
        put: async (entry) => void state.kept.set("set", entry),
      },
      fetch: async (url) => {
        expect(url).toBe("https://auth.internal/security/issuer-keys")
        state.asked++
        return state.isUp ? Response.json({ issuerKeySet: state.set }) : new Response(null, { status: 503 })
      },
      clock: { nowMs: () => state.nowMs },
      background: (work) => {
        looking = work
      },
      report: () => state.faults++,
    })
    const look = async () => {
      await keys.look()
      await looking
    }
    return { ...keys, look, call: keys.look }
  }
  return { state, isolate }
}
const unavailable = expect.objectContaining({ reason: "UNAVAILABLE" })

test("the set is cached for one minute in memory and five in the store, and signs only receipts", async () => {
  const { state, isolate } = setUp()
  const keys = isolate()
  expect(() => keys.issuerKeys()).toThrow(unavailable)
  await Promise.all([keys.look(), keys.look()])
  expect(state.asked).toBe(1)
  expect(toHex(keyIdOf(keys.signer("RECEIPT").publicKey))).toBe(toHex(keyIdOf(nodeSigner(receiptKey).publicKey)))
  for (const purpose of ["CREDENTIAL", "PROOF", "LIST"] as const)
    expect(() => keys.signer(purpose)).toThrow(unavailable)
  await isolate().look()
  expect(state.asked).toBe(1)
  state.nowMs += 5 * minute
  await keys.look()
  expect(state.asked).toBe(2)
})

test("without the auth service the cached set is used until it expires, and then nothing is signed", async () => {
  const { state, isolate } = setUp()
  await isolate().look()
  state.isUp = false
  state.nowMs += 29 * 86_400_000
  const keys = isolate()
  await keys.look()
  expect(keys.signer("RECEIPT")).toBeDefined()
  state.nowMs += 2 * 86_400_000
  await keys.look()
  expect(() => keys.issuerKeys()).toThrow(unavailable)
  expect(() => keys.signer("RECEIPT")).toThrow(unavailable)
})

test("a call after the set has expired waits for the next one, and gets none without the auth service", async () => {
  const { state, isolate } = setUp()
  const keys = isolate()
  await keys.look()
  state.isUp = false
  state.nowMs += 31 * 86_400_000
  await keys.call()
  expect(() => keys.issuerKeys()).toThrow(unavailable)
  expect(keys.bytes()).toBeUndefined()
  expect(keys.keySet()).toBeUndefined()
})

test("a cache entry from the future is not used in place of the auth service's set", async () => {
  const { state, isolate } = setUp()
  state.kept.set("set", { text: first, fetchedAtMs: start + 86_400_000 })
  state.set = await setOf(2n, [keyOf(receiptKey)])
  const keys = isolate()
  await keys.look()
  expect(keys.issuerKeys().version).toBe(2n)
})

test.each<[string, number]>([
  ["before it is valid", start + 2 * 3_600_000],
  ["after it has expired", start - 5 * 365 * 86_400_000 + 60_000],
])("the receipt key signs nothing %s, although the set is valid", async (_, createdAtMs) => {
  const { state, isolate } = setUp()
  state.set = await setOf(1n, [{ ...keyOf(receiptKey), createdAtMs }])
  state.nowMs += createdAtMs < start ? 60_000 : 0
  const keys = isolate()
  await keys.look()
  expect(keys.issuerKeys().version).toBe(1n)
  expect(() => keys.signer("RECEIPT")).toThrow(unavailable)
})

test("a set of another root or issuer, an older set and a fork are rejected from every source", async () => {
  const { state, isolate } = setUp()
  const keys = isolate()
  state.set = await setOf(2n, [keyOf(receiptKey)])
  await keys.look()
  for (const set of [
    await setOf(3n, [keyOf(receiptKey)], seed()),
    await setOf(3n, [keyOf(receiptKey)], root, "https://auth.internal"),
    first,
    await setOf(2n, [keyOf(receiptKey), keyOf(seed(), "LIST")]),
  ]) {
    const before = state.faults
    state.set = set
    state.kept.set("set", { text: set, fetchedAtMs: state.nowMs + minute })
    state.nowMs += 6 * minute
    await keys.look()
    expect(state.faults).toBeGreaterThan(before)
    expect(keys.issuerKeys().version).toBe(2n)
  }
})

test("a set that does not name this backend's key, or names it for something else, signs nothing", async () => {
  const { state, isolate } = setUp()
  state.set = await setOf(1n, [keyOf(seed())])
  const keys = isolate()
  await keys.look()
  expect(keys.issuerKeys().version).toBe(1n)
  expect(() => keys.signer("RECEIPT")).toThrow(unavailable)
  state.set = await setOf(2n, [keyOf(receiptKey, "LIST")])
  state.nowMs += 6_000
  await keys.look()
  expect(() => keys.signer("RECEIPT")).toThrow(unavailable)
  // The operator had the key added: the set is found within seconds, whatever the store has cached.
  state.set = await setOf(3n, [keyOf(receiptKey)])
  state.nowMs += 6_000
  await keys.look()
  expect(keys.signer("RECEIPT")).toBeDefined()
})

test("without a set, the sources are asked again after five seconds", async () => {
  const { state, isolate } = setUp()
  state.isUp = false
  const keys = isolate()
  for (let i = 0; i < 50; i++) await keys.look()
  expect(state.asked).toBe(1)
  state.nowMs += 5_000
  await keys.look()
  expect(state.asked).toBe(2)
})

test("a holder of a set does not wait for the next one, and adopts it when it arrives", async () => {
  const { state, isolate } = setUp()
  const keys = isolate()
  await keys.look()
  state.set = await setOf(2n, [keyOf(receiptKey)])
  state.nowMs += 6 * minute
  await keys.call()
  expect(keys.issuerKeys().version).toBe(1n)
  await keys.look()
  expect(keys.issuerKeys().version).toBe(2n)
})
