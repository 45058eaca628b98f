import { createServer, type RequestListener } from "node:http"
import { Readable } from "node:stream"
import { afterEach, expect, test } from "vitest"
import { createVerifier } from "./access-token.ts"
import { createKeySet, createLocalKeySet, type KeySetOptions } from "./key-set.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import { createIssuer } from "./testing/issuer.ts"

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A key set with a fetch that counts its calls and returns a configured answer. */
function setUp(options: Partial<KeySetOptions> = {}) {
  const issuer = createIssuer()
  const state = { fetches: 0, answer: async () => Response.json({ keys: [issuer.jwk] }) }
  const keySet = createKeySet({
    url: "https://auth.example/.well-known/jwks.json",
    crypto: nodeTokenCrypto,
    clock: issuer.clock,
    fetch: () => {
      state.fetches++
      return state.answer()
    },
    ...options,
  })
  return { issuer, state, keySet }
}

function fail(): Promise<Response> {
  return Promise.reject(new Error("no route to host"))
}

/** Starts a server on its own port and returns the URL of its key set. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  closers.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  return `http://127.0.0.1:${address.port}/jwks`
}

test("keys are fetched once, even for concurrent callers", async () => {
  const { keySet, state } = setUp()
  const found = await Promise.all(Array.from({ length: 50 }, () => keySet.find("key-1")))
  expect(new Set(found).size).toBe(1)
  expect(typeof found[0]).toBe("object")
  expect(state.fetches).toBe(1)
})

test("10,000 random kids cause at most one fetch in 30 seconds", async () => {
  const { issuer, keySet, state } = setUp()
  const verify = createVerifier({ ...issuer, keySet, crypto: nodeTokenCrypto, cacheSize: 10 })
  const tokens = Array.from({ length: 100 }, (_, i) => issuer.token({}, { kid: `random-${i}` }))
  for (let second = 0; second < 100; second++) {
    const results = await Promise.all([
      ...Array.from({ length: 99 }, (_, i) => keySet.find(`kid-${second}-${i}`)),
      verify(tokens[second] ?? ""),
    ])
    expect(new Set(results)).toEqual(new Set(["KEY_UNKNOWN"]))
    issuer.pass(1_000)
    expect(state.fetches).toBeLessThanOrEqual(1 + Math.floor((second + 1) / 30))
  }
  expect(state.fetches).toBe(4)
})

test("a kid that a fetch did not contain causes no other fetch for a minute", async () => {
  const { issuer, keySet, state } = setUp()
  await keySet.find("key-1")
  issuer.pass(30_000)
  await keySet.find("nobody")
  expect(state.fetches).toBe(2)
  issuer.pass(31_000)
  expect(await keySet.find("nobody")).toBe("KEY_UNKNOWN")
  expect(state.fetches).toBe(2)
  issuer.pass(30_000)
  await keySet.find("nobody")
  expect(state.fetches).toBe(3)
})

test("the memory of unknown kids is bounded", async () => {
  const { issuer, keySet, state } = setUp({ limits: { maxUnknown: 2, cooldownMs: 1 } })
  await keySet.find("key-1")
  for (const kid of ["a", "b", "c"]) {
    issuer.pass(1)
    await keySet.find(kid)
  }
  expect(state.fetches).toBe(4)
  issuer.pass(1)
  // "a" was evicted for "c"; "c" is stored.
  await keySet.find("c")
  expect(state.fetches).toBe(4)
  await keySet.find("a")
  expect(state.fetches).toBe(5)
})

test("a newly published key is found by its first token", async () => {
  const { issuer, keySet, state } = setUp()
  await keySet.find("key-1")
  const next = { ...createIssuer().jwk, kid: "key-2" }
  state.answer = async () => Response.json({ keys: [issuer.jwk, next] })
  expect(await keySet.find("key-2")).toBe("KEY_UNKNOWN")
  issuer.pass(30_000)
  expect(typeof (await keySet.find("key-2"))).toBe("object")
})

test("while the issuer is unreachable, keys are used for a day", async () => {
  const { issuer, keySet, state } = setUp()
  await keySet.find("key-1")
  state.answer = fail
  issuer.pass(86_400_000)
  expect(typeof (await keySet.find("key-1"))).toBe("object")
  issuer.pass(1)
  expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
})

test("without any keys the result is UNAVAILABLE, not KEY_UNKNOWN", async () => {
  const { issuer, keySet, state } = setUp()
  const { answer } = state
  state.answer = fail
  expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
  expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
  expect(state.fetches).toBe(1)
  state.answer = answer
  issuer.pass(5_000)
  expect(typeof (await keySet.find("key-1"))).toBe("object")
})

test("a key that is no longer published is not found after the next fetch", async () => {
  const { issuer, keySet, state } = setUp()
  await keySet.find("key-1")
  state.answer = async () => Response.json({ keys: [] })
  issuer.pass(300_001)
  expect(await keySet.find("key-1")).toBe("KEY_UNKNOWN")
})

test.each<[string, (jwk: object) => BodyInit | null, ResponseInit?]>([
  ["no JSON", () => "<html>"],
  ["no set", () => "[]"],
  ["a set without keys", () => "{}"],
  ["two keys have the same kid", (jwk) => JSON.stringify({ keys: [jwk, jwk] })],
  ["17 keys", (jwk) => JSON.stringify({ keys: Array.from({ length: 17 }, (_, i) => ({ ...jwk, kid: `k${i}` })) })],
  ["a point that is not on the curve", (jwk) => JSON.stringify({ keys: [{ ...jwk, y: "A".repeat(43) }] })],
  ["invalid UTF-8", () => new Uint8Array([0x7b, 0xc3, 0x28, 0x7d])],
  ["an error", () => "{}", { status: 500 }],
  ["nothing", () => null, { status: 204 }],
])("an answer that is %s is refused, and the earlier keys stay in use", async (_, body, init) => {
  const { issuer, keySet, state } = setUp()
  await keySet.find("key-1")
  state.answer = async () => new Response(body({ ...issuer.jwk, kid: "key-2" }), init)
  issuer.pass(300_001)
  expect(typeof (await keySet.find("key-1"))).toBe("object")
  expect(await keySet.find("key-2")).toBe("KEY_UNKNOWN")
  expect(state.fetches).toBe(2)
})

test("over a real socket: the set is read", async () => {
  const { jwk, clock } = createIssuer()
  const url = await serve((_, response) => response.end(JSON.stringify({ keys: [jwk] })))
  const keySet = createKeySet({ url, crypto: nodeTokenCrypto, clock, fetch })
  expect(typeof (await keySet.find("key-1"))).toBe("object")
})

test("over a real socket: no redirect is followed", async () => {
  const { jwk, clock } = createIssuer()
  let followed = 0
  const target = await serve((_, response) => {
    followed++
    response.end(JSON.stringify({ keys: [jwk] }))
  })
  const url = await serve((_, response) => response.writeHead(302, { location: target }).end())
  const keySet = createKeySet({ url, crypto: nodeTokenCrypto, clock, fetch })
  expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
  expect(followed).toBe(0)
})

test("over a real socket: an endless response is aborted at the size limit", async () => {
  const { clock } = createIssuer()
  let sent = 0
  function* blanks() {
    for (; sent < 100_000_000; sent += 16_384) yield " ".repeat(16_384)
  }
  const url = await serve((_, response) => void Readable.from(blanks()).pipe(response))
  const keySet = createKeySet({ url, crypto: nodeTokenCrypto, clock, fetch })
  expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
  expect(sent).toBeLessThan(100_000_000)
})

test("over a real socket: a response without an end of headers or body is aborted at the time limit", async () => {
  const { clock, jwk } = createIssuer()
  const silent = await serve(() => undefined)
  const slow = await serve((_, response) => response.write(JSON.stringify({ keys: [jwk] })))
  for (const url of [silent, slow]) {
    const keySet = createKeySet({ url, crypto: nodeTokenCrypto, clock, fetch, limits: { timeoutMs: 100 } })
    expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
  }
})

test("a fetch that ignores its signal times out, too", async () => {
  const { keySet } = setUp({ fetch: () => new Promise(() => undefined), limits: { timeoutMs: 20 } })
  expect(await keySet.find("key-1")).toBe("UNAVAILABLE")
})

test("a cache replaces the first fetch, and stores what was fetched", async () => {
  const issuer = createIssuer()
  let kept: { text: string; fetchedAtMs: number } | undefined
  const cache = {
    get: async () => kept,
    put: async (entry: NonNullable<typeof kept>) => {
      kept = entry
    },
  }
  const first = setUp({ cache, clock: issuer.clock, fetch: async () => Response.json({ keys: [issuer.jwk] }) })
  await first.keySet.find("key-1")
  expect(kept?.fetchedAtMs).toBe(issuer.clock.nowMs())
  const second = setUp({ cache, clock: issuer.clock, fetch: fail })
  expect(typeof (await second.keySet.find("key-1"))).toBe("object")
})

test("an old, failing or malformed cache entry is ignored", async () => {
  const issuer = createIssuer()
  const old = { text: JSON.stringify({ keys: [] }), fetchedAtMs: issuer.clock.nowMs() - 300_001 }
  for (const get of [async () => old, async () => ({ ...old, text: "x" }), () => Promise.reject(new Error("down"))]) {
    const put = () => Promise.reject(new Error("down"))
    const { keySet } = setUp({ cache: { get, put } })
    expect(typeof (await keySet.find("key-1"))).toBe("object")
  }
})

test("a ring in the same process: exactly the currently published keys are accepted", async () => {
  const { jwk } = createIssuer()
  let keys = [jwk]
  const keySet = createLocalKeySet({ jwks: () => keys }, nodeTokenCrypto)
  const found = await keySet.find("key-1")
  expect(typeof found).toBe("object")
  expect(await keySet.find("key-1")).toBe(found)
  keys = []
  expect(await keySet.find("key-1")).toBe("KEY_UNKNOWN")
  // The same kid with another key, which no issuer should publish, yields the other key.
  keys = [{ ...createIssuer().jwk, kid: "key-1" }]
  expect(await keySet.find("key-1")).not.toBe(found)
})

test("a key with a list for a coordinate is ignored, and the others are used", async () => {
  const { issuer, keySet, state } = setUp()
  const { jwk } = issuer
  const lists = [
    { ...jwk, kid: "key-x", x: [jwk.x] },
    { ...jwk, kid: "key-y", y: [jwk.y] },
  ]
  state.answer = async () => Response.json({ keys: [...lists, jwk] })
  expect(await keySet.find("key-x")).toBe("KEY_UNKNOWN")
  expect(await keySet.find("key-y")).toBe("KEY_UNKNOWN")
  expect(typeof (await keySet.find("key-1"))).toBe("object")
})
