import { describe, expect, test } from "vitest"
import { createKeySet, createLocalKeySet, type KeySetCache, type KeySetLimits } from "./key-set.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import { createIssuer } from "./testing/issuer.ts"

type Entry = NonNullable<Awaited<ReturnType<KeySetCache["get"]>>>

/** A key set between a cache and an issuer, which publish the contents of `state`. */
function setUp(limits: Partial<KeySetLimits> = {}) {
  const { clock, pass, jwk } = createIssuer()
  const textOf = (...kids: string[]) => JSON.stringify({ keys: kids.map((kid) => ({ ...jwk, kid })) })
  const state = { fetches: 0, reads: 0, published: textOf("key-1"), entry: undefined as Entry | undefined }
  const cached = (text: string, ageMs: number) => {
    state.entry = { text, fetchedAtMs: clock.nowMs() - ageMs }
  }
  const keySet = createKeySet({
    url: "https://auth.example/.well-known/jwks.json",
    crypto: nodeTokenCrypto,
    clock,
    limits,
    cache: {
      async get() {
        state.reads++
        return state.entry
      },
      async put(entry) {
        state.entry = entry
      },
    },
    fetch: async () => {
      state.fetches++
      return new Response(state.published)
    },
  })
  const isFound = async (kid: string) => typeof (await keySet.find(kid)) === "object"
  return { keySet, clock, pass, textOf, state, cached, isFound }
}

describe("a cached key set", () => {
  test.each([
    ["replaces a request to the issuer", 300_000, 0],
    ["spares it no more a moment later", 300_001, 1],
    ["of the future is none: it would never be too old", -1, 1],
  ])("%s at an age of %i ms", async (_, ageMs, fetches) => {
    const { state, cached, textOf, isFound } = setUp()
    cached(textOf("key-1"), ageMs)
    expect(await isFound("key-1")).toBe(true)
    expect(state.fetches).toBe(fetches)
  })

  test("that is too old is used while the issuer publishes none, until it is a day old", async () => {
    const { state, cached, textOf, isFound, keySet, pass } = setUp()
    state.published = "no key set"
    cached(textOf("key-1"), 300_001)
    expect(await isFound("key-1")).toBe(true)
    expect(state.fetches).toBe(1)
    pass(86_400_000 - 300_001)
    expect(await isFound("key-1")).toBe(true)
    pass(1)
    expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
  })

  test("that is too old delays requests to the issuer no longer than a failed request", async () => {
    const { state, cached, textOf, isFound, pass } = setUp()
    state.published = "no key set"
    cached(textOf("key-1"), 300_001)
    expect([await isFound("key-1"), state.fetches]).toEqual([true, 1])
    pass(30_000)
    expect([await isFound("key-1"), state.fetches]).toEqual([true, 2])
  })

  test("that replaced a request is not read again at once, at any age", async () => {
    const { state, cached, textOf, isFound, pass } = setUp()
    cached(textOf("key-1"), 300_000)
    expect(await isFound("key-1")).toBe(true)
    pass(300_000)
    expect(await isFound("key-1")).toBe(true)
    expect([state.reads, state.fetches]).toEqual([1, 0])
  })

  test("dated in the future is not used, even while the issuer publishes none", async () => {
    const { state, cached, textOf, keySet } = setUp()
    state.published = "no key set"
    cached(textOf("key-1"), -1)
    expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
  })

  test("restores no withdrawn key: an older one does not replace a newer fetch", async () => {
    const { state, cached, textOf, isFound, pass } = setUp()
    state.published = textOf("key-2")
    expect(await isFound("key-2")).toBe(true)
    cached(textOf("key-1"), 1)
    pass(299_999)
    state.published = "no key set"
    pass(2)
    expect(await isFound("key-1")).toBe(false)
    expect(await isFound("key-2")).toBe(true)
  })

  test("that another process renewed replaces an older one without a request to the issuer", async () => {
    const { state, cached, textOf, isFound, pass } = setUp()
    expect(await isFound("key-1")).toBe(true)
    pass(300_001)
    cached(textOf("key-2"), 300_000)
    expect([await isFound("key-2"), state.fetches]).toEqual([true, 1])
  })

  test("is skipped for an unknown kid, for which the issuer is asked", async () => {
    const { state, cached, textOf, isFound, pass } = setUp()
    cached(textOf("key-1"), 0)
    expect(await isFound("key-1")).toBe(true)
    pass(30_000)
    state.published = textOf("key-1", "key-2")
    expect([await isFound("key-2"), state.fetches, state.reads]).toEqual([true, 1, 1])
  })
})

test("unknown kids are stored up to the limit, and the oldest is evicted first", async () => {
  const { state, isFound, pass } = setUp({ maxUnknown: 2, cooldownMs: 1_000 })
  expect(await isFound("key-1")).toBe(true)
  const fetchesFor = async (kid: string) => {
    pass(1_000)
    const before = state.fetches
    expect(await isFound(kid)).toBe(false)
    return state.fetches - before
  }
  expect([await fetchesFor("a"), await fetchesFor("b"), await fetchesFor("b"), await fetchesFor("a")]).toEqual([
    1, 1, 0, 0,
  ])
  expect([await fetchesFor("c"), await fetchesFor("b"), await fetchesFor("c"), await fetchesFor("a")]).toEqual([
    1, 0, 0, 1,
  ])
})

test("a local key set finds the named key, and none that its ring has dropped", async () => {
  const a = createIssuer()
  const b = createIssuer()
  let ring = [a.jwk, { ...b.jwk, kid: "key-2" }]
  const keySet = createLocalKeySet({ jwks: () => ring }, nodeTokenCrypto)
  const [first, second] = [await keySet.find("key-1"), await keySet.find("key-2")]
  expect(first).not.toBe(second)
  expect(await keySet.find("key-2")).toBe(second)
  ring = [a.jwk]
  expect(await keySet.find("key-2")).toBe("KEY_UNKNOWN")
  ring = [{ ...b.jwk, kid: "key-2" }]
  expect(await keySet.find("key-2")).not.toBe(second)
})

test.each([
  ["no object", "[]"],
  ["nothing", "null"],
  ["no list", '{"keys":{}}'],
])("a document with %s is no key set", async (_, text) => {
  const { keySet, state } = setUp()
  state.published = text
  expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
})
