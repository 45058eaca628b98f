import { expect, test } from "vitest"
import { createEdgeGuard } from "./edge.ts"
import { createKeyValueCache } from "./kv-cache.ts"
import { createIssuer } from "./testing/issuer.ts"

const hourMs = 3_600_000

/** Isolates with one key-value store and one issuer, which counts its requests. */
function setUp() {
  const issuer = createIssuer()
  const kept = new Map<string, string>()
  const counts = { issuer: 0, store: 0 }
  const state = { keys: [issuer.jwk], isUp: true }
  const store = {
    get: async (key: string) => {
      counts.store++
      return kept.get(key) ?? null
    },
    put: async (key: string, value: string) => {
      kept.set(key, value)
    },
  }
  const isolate = () => {
    const guard = createEdgeGuard({
      issuer: issuer.issuer,
      audience: issuer.audience,
      appId: issuer.appId,
      clock: issuer.clock,
      jwksUrl: "https://auth.example/jwks",
      fetch: async () => {
        counts.issuer++
        return state.isUp ? Response.json({ keys: state.keys }) : new Response(null, { status: 503 })
      },
      cache: createKeyValueCache(store),
    })
    return async (header: object = {}) => {
      const caller = await guard.authenticate(`Bearer ${issuer.token({}, header)}`)
      return typeof caller === "string" ? caller : "known"
    }
  }
  return { issuer, kept, counts, state, isolate }
}

test("keys come from memory for a minute, from the store for an hour, then from the issuer", async () => {
  const { issuer, counts, isolate } = setUp()
  const first = isolate()
  for (let i = 0; i < 5; i++) expect(await first()).toBe("known")
  expect(counts).toEqual({ issuer: 1, store: 1 })
  // Neither another isolate nor, a minute later, the first one asks the issuer.
  expect(await isolate()()).toBe("known")
  issuer.pass(60_001)
  expect(await first()).toBe("known")
  expect(await first()).toBe("known")
  expect(counts).toEqual({ issuer: 1, store: 3 })
  issuer.pass(hourMs)
  expect(await first()).toBe("known")
  expect(counts).toEqual({ issuer: 2, store: 4 })
})

test("any number of unknown kids causes one request to the issuer", async () => {
  const { issuer, counts, isolate } = setUp()
  const ask = isolate()
  await ask()
  issuer.pass(30_000)
  for (let i = 0; i < 50; i++) expect(await ask({ kid: `random-${i}` })).toBe("KEY_UNKNOWN")
  expect(counts.issuer).toBe(2)
})

test("a key that was published after the store was filled is found", async () => {
  const { issuer, state, isolate } = setUp()
  await isolate()()
  state.keys = [issuer.jwk, { ...createIssuer().jwk, kid: "key-2" }]
  const later = isolate()
  // The signature is from another key, so the key itself was found.
  expect(await later({ kid: "key-2" })).toBe("SIGNATURE_INVALID")
})

test("while the issuer is down, stored keys are used for a day, with limited requests to the issuer", async () => {
  const { issuer, counts, state, isolate } = setUp()
  await isolate()()
  state.isUp = false
  issuer.pass(2 * hourMs)
  const ask = isolate()
  for (let i = 0; i < 10; i++) expect(await ask()).toBe("known")
  expect(counts.issuer).toBe(2)
  issuer.pass(23 * hourMs)
  expect(await ask()).toBe("UNAVAILABLE")
})

test.each([
  ["is no JSON", "x"],
  ["is another thing", '{"keys":[]}'],
  ["is empty", "null"],
  ["comes from the future", JSON.stringify({ text: '{"keys":[]}', fetchedAtMs: 9e15 })],
])("a stored entry that %s is ignored", async (_, value) => {
  const { kept, counts, isolate } = setUp()
  kept.set("signet-jwks", value)
  expect(await isolate()()).toBe("known")
  expect(counts.issuer).toBe(1)
})

test("an entry older than the keys in memory does not replace them", async () => {
  const { issuer, kept, state, isolate } = setUp()
  const ask = isolate()
  await ask()
  const old = kept.get("signet-jwks") ?? ""
  issuer.pass(hourMs + 1)
  state.keys = [{ ...createIssuer().jwk, kid: "key-2" }]
  expect(await ask()).toBe("KEY_UNKNOWN")
  kept.set("signet-jwks", old)
  issuer.pass(60_001)
  expect(await ask()).toBe("KEY_UNKNOWN")
})
