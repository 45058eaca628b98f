import type { SigningKeyRecord, SigningKeys } from "@signet/kernel/keys/ports"
import { keyPurposes, purposeOf } from "@signet/kernel/keys/purposes"
import { signingKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { calculateJwkThumbprint, createLocalJWKSet, jwtVerify } from "jose"
import { describe, expect, test } from "vitest"
import { isLong } from "../../test/support/effort.ts"
import { memorySigningKeys } from "../../test/support/signing-keys.ts"
import { createKeyRing, type KeyRingOptions } from "./key-ring.ts"
import { createSecrets } from "./secrets.ts"

const day = 86_400_000
const pepper = { version: 1, key: new Uint8Array(32).fill(1) }
const secretsUnder = (fill: number) => createSecrets({ peppers: [pepper], sealingKey: new Uint8Array(32).fill(fill) })

/** A store and a clock that several rings share, as the processes of one installation do. */
function installation(change: Partial<KeyRingOptions> = {}) {
  const clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
  const signingKeys = memorySigningKeys()
  const ring = async () => {
    const created = createKeyRing({ signingKeys, secrets: secretsUnder(2), clock, ...change })
    await created.start()
    return created
  }
  return { clock, signingKeys, ring }
}

const kidOf = (token: string) => JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid
const verify = (token: string, keys: readonly object[]) =>
  jwtVerify(token, createLocalJWKSet({ keys: [...keys] as [] }), { algorithms: ["ES256"], typ: "at+jwt" })
const kids = (keys: readonly { kid: string }[]) => keys.map((key) => key.kid)

describe("a signature", () => {
  test("verifies with the published keys, in the format of JWS, with exactly three header members", async () => {
    const ring = await installation().ring()
    const token = ring.sign("at+jwt", { sub: "prn_ada", name: "Åda" })
    const { payload, protectedHeader } = await verify(token, ring.jwks())
    expect(payload).toEqual({ sub: "prn_ada", name: "Åda" })
    expect(protectedHeader).toEqual({ alg: "ES256", typ: "at+jwt", kid: kidOf(token) })
    expect(Buffer.from(token.split(".")[2] ?? "", "base64url")).toHaveLength(64)
  })

  test("is refused before the ring has started", () => {
    const { clock, signingKeys } = installation()
    const ring = createKeyRing({ signingKeys, secrets: secretsUnder(2), clock })
    expect(() => ring.sign("at+jwt", {})).toThrow("not started")
    expect(() => ring.jwks()).toThrow("not started")
  })
})

describe("the key set", () => {
  test("has public members only, and every kid is the key's thumbprint", async () => {
    const ring = await installation().ring()
    expect(ring.jwks()).toHaveLength(2)
    for (const jwk of ring.jwks()) {
      expect(Object.keys(jwk).toSorted()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"])
      expect(await calculateJwkThumbprint({ kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y }, "sha256")).toBe(jwk.kid)
    }
  })

  test("stores private halves encrypted only", async () => {
    const { ring, signingKeys } = installation()
    await ring()
    for (const key of await signingKeys.list()) {
      const opened = secretsUnder(2).open(signingKeyLabel(key), key.privateSealed)
      expect(opened).toBeDefined()
      expect(Buffer.from(key.privateSealed).includes(Buffer.from(opened ?? []).subarray(-32))).toBe(false)
    }
  })
})

describe("rotation", () => {
  test("needs no restart, and a second process sees it at its next tick", async () => {
    const { ring, clock } = installation()
    const [a, b] = [await ring(), await ring()]
    const before = a.sign("at+jwt", {})
    expect(kidOf(b.sign("at+jwt", {}))).toBe(kidOf(before))

    clock.ms += 30 * day
    const statuses = [{ status: "PREVIOUS" }, { status: "CURRENT" }, { status: "NEXT" }]
    expect(await a.tick()).toMatchObject(
      keyPurposes.flatMap((purpose) => statuses.map((status) => ({ purpose, ...status }))),
    )
    const after = a.sign("at+jwt", {})
    expect(kidOf(after)).not.toBe(kidOf(before))
    // The key was published from the start, so a process that has not looked yet verifies what the other signs.
    await verify(after, b.jwks())

    expect(await b.tick()).toEqual([])
    expect(kidOf(b.sign("at+jwt", {}))).toBe(kidOf(after))
    await verify(before, b.jwks())
    expect(kids(b.jwks())).toEqual(kids(a.jwks()))

    clock.ms += day
    await b.tick()
    expect(kids(b.jwks())).not.toContain(kidOf(before))
  })

  test("of many processes at once makes one new key", async () => {
    const { ring, clock, signingKeys } = installation()
    const rings = await Promise.all(Array.from({ length: 8 }, ring))
    expect(await signingKeys.list()).toHaveLength(2 * keyPurposes.length)
    clock.ms += 30 * day
    await Promise.all(rings.map((one) => one.tick()))
    expect(await signingKeys.list()).toHaveLength(3 * keyPurposes.length)
    expect(new Set(rings.map((one) => kidOf(one.sign("at+jwt", {})))).size).toBe(1)
  })

  test.runIf(isLong)(
    "continues for a year with at most four published keys, and every token verifies for a day",
    async () => {
      const { ring, clock } = installation()
      const one = await ring()
      const seen = new Set<string>()
      let yesterday = one.sign("at+jwt", {})
      for (let i = 0; i < 365; i++) {
        clock.ms += day - 1
        await one.tick()
        expect(one.jwks().length).toBeLessThanOrEqual(4)
        await verify(yesterday, one.jwks())
        yesterday = one.sign("at+jwt", {})
        seen.add(kidOf(yesterday))
      }
      expect(seen.size).toBe(12)
    },
  )

  test("that fails leaves the ring signing with its current key", async () => {
    const { signingKeys, clock } = installation()
    let isDown = false
    const flaky = {
      ...signingKeys,
      list: async () => (isDown ? Promise.reject(new Error("no database")) : signingKeys.list()),
    }
    const ring = createKeyRing({ signingKeys: flaky, secrets: secretsUnder(2), clock })
    await ring.start()
    isDown = true
    await expect(ring.tick()).rejects.toThrow("no database")
    await verify(ring.sign("at+jwt", {}), ring.jwks())
    isDown = false
    expect(await ring.tick()).toEqual([])
  })
})

describe("a write whose answer was lost", () => {
  test("is found at the next tick, and the ring continues", async () => {
    const { signingKeys, clock } = installation()
    let isLost = true
    const lossy: SigningKeys = {
      ...signingKeys,
      async change(work) {
        const keys = await signingKeys.change(work)
        if (isLost) throw new Error("connection lost")
        return keys
      },
    }
    const ring = createKeyRing({ signingKeys: lossy, secrets: secretsUnder(2), clock })
    await expect(ring.start()).rejects.toThrow("connection lost")
    expect(await ring.start()).toEqual([])
    isLost = false
    clock.ms += 30 * day
    expect(await ring.tick()).toHaveLength(3 * keyPurposes.length)
    await verify(ring.sign("at+jwt", {}), ring.jwks())
  })
})

describe("keys of several purposes", () => {
  const types = ["at+jwt", "rev+jwt", "perm+jwt", "aud-cp+jwt", "ctx+jwt", "ekc+jwt"] as const

  test("no key is in two sets, whatever happens to the keys", async () => {
    const { ring, clock } = installation()
    const one = await ring()
    const all = () => keyPurposes.flatMap((purpose) => kids(one.jwks(purpose)))
    for (const happens of [
      async () => {},
      () => one.compromise(kidOf(one.sign("rev+jwt", {}))),
      async () => {
        clock.ms += 30 * day
        await one.tick()
      },
      () => one.compromise(kidOf(one.sign("ctx+jwt", {}))),
    ]) {
      await happens()
      expect(new Set(all()).size).toBe(all().length)
      for (const purpose of keyPurposes) expect(one.jwks(purpose).length).toBeGreaterThanOrEqual(2)
    }
  })

  test.each(types)("a token of type %s verifies only with the keys of its purpose", async (typ) => {
    const ring = await installation().ring()
    const token = ring.sign(typ, {})
    for (const purpose of keyPurposes) {
      const verified = jwtVerify(token, createLocalJWKSet({ keys: [...ring.jwks(purpose)] as [] }), { typ })
      if (purpose === purposeOf(typ)) await verified
      else await expect(verified).rejects.toThrow("no applicable key found")
    }
  })

  test("a type without a purpose is not signed", async () => {
    const ring = await installation().ring()
    for (const typ of ["JWT", "toString", ""]) {
      expect(() => Reflect.apply(ring.sign, ring, [typ, {}])).toThrow(RangeError)
    }
  })

  test("the end of one key changes the keys of no other purpose", async () => {
    const ring = await installation().ring()
    const access = kids(ring.jwks("ACCESS"))
    const statements = kids(ring.jwks("STATEMENT"))
    const changes = await ring.compromise(kidOf(ring.sign("rev+jwt", {})))
    expect(new Set(changes.map(({ purpose }) => purpose))).toEqual(new Set(["STATEMENT"]))
    expect(kids(ring.jwks("ACCESS"))).toEqual(access)
    expect(kids(ring.jwks("STATEMENT"))).not.toEqual(statements)
  })

  test("a row that was given another purpose does not open", async () => {
    const { ring, signingKeys, clock } = installation()
    await ring()
    await signingKeys.change((keys) =>
      keys.map((key): SigningKeyRecord => {
        if (key.purpose === "CONTEXT") return key
        return { ...key, purpose: key.purpose === "ACCESS" ? "STATEMENT" : "ACCESS" }
      }),
    )
    const stranger = createKeyRing({ signingKeys, secrets: secretsUnder(2), clock })
    await expect(stranger.start()).rejects.toThrow("does not open")
  })
})

describe("a compromised key", () => {
  test("leaves the key set at once, and the next signs", async () => {
    const { ring } = installation()
    const [a, b] = [await ring(), await ring()]
    const stolen = kidOf(a.sign("at+jwt", {}))
    const [, next] = kids(a.jwks())
    expect(await a.compromise(stolen)).toMatchObject([
      { kid: stolen, status: "COMPROMISED" },
      { kid: next, status: "CURRENT" },
      { status: "NEXT" },
    ])
    expect(kids(a.jwks())).not.toContain(stolen)
    expect(kidOf(a.sign("at+jwt", {}))).toBe(next)

    await b.tick()
    expect(kids(b.jwks())).toEqual(kids(a.jwks()))
    expect(kidOf(b.sign("at+jwt", {}))).toBe(next)
    expect(await b.compromise(stolen)).toEqual([])
    expect(await b.compromise("unknown")).toEqual([])
  })
})

describe("a ring does not start", () => {
  test("under another sealing key", async () => {
    const { ring, signingKeys, clock } = installation()
    await ring()
    const stranger = createKeyRing({ signingKeys, secrets: secretsUnder(3), clock })
    await expect(stranger.start()).rejects.toThrow("does not open")
    expect(() => stranger.sign("at+jwt", {})).toThrow("not started")
  })

  test("on rows whose halves were swapped", async () => {
    const { ring, signingKeys, clock } = installation()
    await ring()
    const swapped: SigningKeyRecord[] = []
    await signingKeys.change(([a, b]) => {
      if (a && b) swapped.push({ ...a, publicJwk: b.publicJwk }, { ...b, publicJwk: a.publicJwk })
      return swapped
    })
    expect(swapped).toHaveLength(2)
    const ring2 = createKeyRing({ signingKeys, secrets: secretsUnder(2), clock })
    await expect(ring2.start()).rejects.toThrow("does not match its row")
  })

  test("on a row under another kid than its key's thumbprint", async () => {
    const { ring, signingKeys, clock } = installation()
    await ring()
    const secrets = secretsUnder(2)
    await signingKeys.change(([a, ...others]) => {
      const privateKey = a && secrets.open(signingKeyLabel(a), a.privateSealed)
      if (a === undefined || privateKey === undefined) return []
      const renamed = { ...a, kid: "another" }
      const privateSealed = secrets.seal(signingKeyLabel(renamed), privateKey)
      return [{ ...a, status: "RETIRED" as const }, { ...renamed, privateSealed }, ...others]
    })
    const ring2 = createKeyRing({ signingKeys, secrets, clock })
    await expect(ring2.start()).rejects.toThrow("does not match its row")
  })

  test.each(["x", "y"] as const)("on a row whose %s is of another key", async (member) => {
    const { ring, signingKeys, clock } = installation()
    await ring()
    await signingKeys.change(([a, b]) =>
      a && b ? [{ ...a, publicJwk: { ...a.publicJwk, [member]: b.publicJwk[member] } }] : [],
    )
    const ring2 = createKeyRing({ signingKeys, secrets: secretsUnder(2), clock })
    await expect(ring2.start()).rejects.toThrow("does not match its row")
  })
})
