import { exportJWK, generateKeyPair } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { type Behaviour, type FakeIdp, startFakeIdp } from "../../test/support/idp.ts"
import { requestJson } from "./bounded-request.ts"
import { createProviderKeys, type ProviderKeys } from "./provider-keys.ts"

const minute = 60_000
let idp: FakeIdp
let keys: ProviderKeys
let clock: { ms: number; nowMs(): number }

beforeEach(async () => {
  idp = await startFakeIdp()
  clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
  keys = createProviderKeys({ isLoopbackAllowed: true, clock, fetch: (url, init) => fetch(url, init) })
})
afterEach(() => idp.stop())

const unavailable = { reason: "UPSTREAM_UNAVAILABLE" }

describe("a provider's keys", () => {
  test("are asked for once, by however many at once", async () => {
    const found = await Promise.all(Array.from({ length: 100 }, () => keys.find(idp.jwksUri, "key-1", "RS256")))
    expect(found.every((key) => key !== undefined)).toBe(true)
    expect(idp.asked.jwks).toBe(1)
  })

  test("of one kid are distinguished by algorithm", async () => {
    const rsa = await keys.find(idp.jwksUri, "key-1", "RS256")
    const ec = await keys.find(idp.jwksUri, "key-1", "ES256")
    expect(rsa?.algorithm.name).toBe("RSASSA-PKCS1-v1_5")
    expect(ec?.algorithm.name).toBe("ECDSA")
  })

  test("are requested again at most once in 30 s, whatever number of unknown kids is looked up", async () => {
    await keys.find(idp.jwksUri, "key-1", "RS256")
    clock.ms += 31_000
    for (let i = 0; i < 10_000; i++) {
      clock.ms += 2
      expect(await keys.find(idp.jwksUri, `made-up-${i}`, "RS256")).toBeUndefined()
    }
    expect(idp.asked.jwks).toBe(2)
    clock.ms += 30_000
    await Promise.all(Array.from({ length: 100 }, (_, i) => keys.find(idp.jwksUri, `more-${i}`, "RS256")))
    expect(idp.asked.jwks).toBe(3)
  })

  test("that the provider has rotated are found after at most 30 s", async () => {
    await keys.find(idp.jwksUri, "key-1", "RS256")
    await idp.rotateKeys()
    expect(await keys.find(idp.jwksUri, "key-2", "RS256")).toBeUndefined()
    clock.ms += 30_000
    expect(await keys.find(idp.jwksUri, "key-2", "RS256")).toBeDefined()
    expect(await keys.find(idp.jwksUri, "key-1", "RS256")).toBeUndefined()
  })

  test("that the provider has withdrawn are accepted for 10 minutes and no longer", async () => {
    await keys.find(idp.jwksUri, "key-1", "RS256")
    await idp.rotateKeys()
    clock.ms += 10 * minute - 1
    expect(await keys.find(idp.jwksUri, "key-1", "RS256")).toBeDefined()
    clock.ms += 1
    expect(await keys.find(idp.jwksUri, "key-1", "RS256")).toBeUndefined()
  })

  test("are accepted for an hour while the provider does not answer", async () => {
    await keys.find(idp.jwksUri, "key-1", "RS256")
    idp.behaviour.jwks = "error"
    clock.ms += 60 * minute - 1
    expect(await keys.find(idp.jwksUri, "key-1", "RS256")).toBeDefined()
    clock.ms += 5_001
    await expect(keys.find(idp.jwksUri, "key-1", "RS256")).rejects.toMatchObject(unavailable)
  })

  test("that are unknown because the provider does not answer cause UPSTREAM_UNAVAILABLE", async () => {
    await keys.find(idp.jwksUri, "key-1", "RS256")
    idp.behaviour.jwks = "hangUp"
    clock.ms += 30_000
    await expect(keys.find(idp.jwksUri, "key-2", "RS256")).rejects.toMatchObject(unavailable)
  })
})

describe("an invalid answer for a key set", () => {
  test.concurrent.each<Behaviour>([
    "redirect",
    "huge",
    "endless",
    "html",
    "garbage",
    "error",
    "hangUp",
    ...effort([], ["slow"] as const, ["slow"] as const),
  ])("is refused: %s", async (behaviour) => {
    const own = await startFakeIdp()
    own.behaviour.jwks = behaviour
    const fresh = createProviderKeys({ isLoopbackAllowed: true, clock, fetch: (url, init) => fetch(url, init) })
    await expect(fresh.find(own.jwksUri, "key-1", "RS256")).rejects.toMatchObject(unavailable)
    expect(own.asked).toEqual({ jwks: 1, token: 0, elsewhere: 0 })

    own.behaviour.jwks = "well"
    await expect(fresh.find(own.jwksUri, "key-1", "RS256")).rejects.toMatchObject(unavailable)
    expect(own.asked.jwks).toBe(1)
    await own.stop()
  })

  test("is requested again after 5 s", async () => {
    idp.behaviour.jwks = "error"
    await expect(keys.find(idp.jwksUri, "key-1", "RS256")).rejects.toMatchObject(unavailable)
    idp.behaviour.jwks = "well"
    clock.ms += 5_000
    expect(await keys.find(idp.jwksUri, "key-1", "RS256")).toBeDefined()
  })
})

describe("an entry of a key set", () => {
  async function published(...jwks: unknown[]): Promise<ProviderKeys> {
    const body = JSON.stringify({ keys: jwks })
    const type = { "content-type": "application/jwk-set+json; charset=utf-8" }
    return createProviderKeys({
      isLoopbackAllowed: true,
      clock,
      fetch: async () => new Response(body, { headers: type }),
    })
  }
  const find = (from: ProviderKeys) => from.find("https://idp-a.example/jwks", "key-1", "RS256")

  test("is a key if it is a public RSA key for verification", async () => {
    expect(await find(await published(null, 1, { kty: "new" }, idp.publishedKey()))).toBeDefined()
  })

  test("is ignored if its private half is published", async () => {
    const { privateKey } = await generateKeyPair("ES256", { extractable: true })
    const jwk = { ...(await exportJWK(privateKey)), kid: "key-1" }
    const findEc = async (key: object) => (await published(key)).find("https://idp-a.example/jwks", "key-1", "ES256")
    expect(await findEc(jwk)).toBeUndefined()
    expect(await findEc({ ...jwk, d: undefined })).toBeDefined()
  })

  test.each<[string, object]>([
    ["for encryption", { use: "enc" }],
    ["for another algorithm", { alg: "RS512" }],
    ["without an id", { kid: undefined }],
    ["with an id that is a number", { kid: 1 }],
    ["of a type that the algorithm does not have", { kty: "oct", k: "AAAA" }],
    ["with an empty modulus", { n: "?" }],
    ["with a modulus of 1,024 bits", { n: Buffer.alloc(128, 0xff).toString("base64url") }],
    ["without a modulus", { n: undefined }],
  ])("is ignored %s", async (_, change) => {
    expect(await find(await published({ ...idp.publishedKey(), ...change }))).toBeUndefined()
  })
})

test("only so many addresses are remembered, and the one longest unused is forgotten", async () => {
  let requests = 0
  const from = createProviderKeys({
    isLoopbackAllowed: true,
    clock,
    fetch: async () => {
      requests++
      return Response.json({ keys: [idp.publishedKey()] })
    },
  })
  const find = (i: number) => from.find(`https://idp-${i}.example/jwks`, "key-1", "RS256")
  for (let i = 0; i < 100; i++) await find(i)
  await find(0)
  await find(100)
  expect(requests).toBe(101)
  await find(0)
  expect(requests).toBe(101)
  await find(1)
  expect(requests).toBe(102)
})

test.each<[string, boolean, boolean]>([
  ["https://idp-a.example/jwks", true, true],
  ["http://127.0.0.1:8080/jwks", true, false],
  ["http://localhost:8080/jwks", true, false],
  ["http://[::1]:8080/jwks", true, false],
  ["https://localhost/jwks", true, false],
  ["https://127.0.0.1/jwks", true, false],
  ["https://2130706433/jwks", false, false],
  ["https://0177.0.0.1/jwks", false, false],
  ["https://0x7f000001/jwks", false, false],
  ["https://169.254.169.254/latest/meta-data/", false, false],
  ["https://metadata.google.internal/", false, false],
  ["https://10.0.0.1/jwks", false, false],
  ["https://192.168.1.1/jwks", false, false],
  ["https://172.16.0.1/jwks", false, false],
  ["https://[::ffff:10.0.0.1]/jwks", false, false],
  ["https://[fe80::1]/jwks", false, false],
  ["https://[fd00:ec2::254]/jwks", false, false],
  ["https://0.0.0.0/jwks", false, false],
  ["https://database/jwks", false, false],
  ["http://idp-a.example/jwks", false, false],
  ["http://127.0.0.1.evil.example/jwks", false, false],
  ["http://localhost.evil.example/jwks", false, false],
  ["http://10.0.0.1/jwks", false, false],
  ["https://user:secret@idp-a.example/jwks", false, false],
  ["file:///etc/passwd", false, false],
  ["data:application/json,{}", false, false],
  ["//idp-a.example", false, false],
  ["", false, false],
])("requests go out to %s: in development %s, in production %s", async (url, inDevelopment, inProduction) => {
  const reached = async (isLoopbackAllowed: boolean) => {
    let isReached = false
    const fetch = async () => {
      isReached = true
      return Response.json({})
    }
    await requestJson({ fetch, isLoopbackAllowed }, url, {}).catch(() => {})
    return isReached
  }
  expect([await reached(true), await reached(false)]).toEqual([inDevelopment, inProduction])
})

describe("an answer that is no key set", () => {
  const find = (body: unknown, kid = "key-1") =>
    createProviderKeys({ isLoopbackAllowed: false, clock, fetch: async () => Response.json(body) }).find(
      "https://idp.example/jwks",
      kid,
      "RS256",
    )

  test.each([[null], [5], [[]], [{}], [{ keys: null }], [{ keys: {} }]])(
    "(%j) is one of a provider that does not answer",
    async (body) => {
      await expect(find(body)).rejects.toMatchObject(unavailable)
    },
  )

  test("has no key without a kid", async () => {
    const { publicKey } = await generateKeyPair("RS256", { extractable: true })
    const jwk = await exportJWK(publicKey)
    const keys = [{ ...jwk, kid: "" }, jwk, { ...jwk, kid: "key-1" }, null, [jwk]]
    expect(await find({ keys })).toBeDefined()
    expect(await find({ keys }, "")).toBeUndefined()
  })
})
