import { createHmac, generateKeyPairSync, sign } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createVerifier } from "./access-token.ts"
import { createKeySet } from "./key-set.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import { createIssuer, encode, ids } from "./testing/issuer.ts"
import { webTokenCrypto } from "./token-crypto.ts"

const cryptos = [
  ["WebCrypto", webTokenCrypto],
  ["node:crypto", nodeTokenCrypto],
] as const

describe.each(cryptos)("with %s", (_, crypto) => {
  const p384 = { ...createIssuer("P-384").jwk, kid: "key-384" }
  const otherCurve = { ...createIssuer().jwk, kid: "key-k1", crv: "secp256k1" }
  const notForSigning = { ...createIssuer().jwk, kid: "key-enc", use: "enc" }
  const forES512 = { ...createIssuer().jwk, kid: "key-es512", alg: "ES512" }

  function setUp(cacheSize = 0) {
    const issuer = createIssuer()
    let fetches = 0
    let published: readonly object[] = [issuer.jwk, p384, otherCurve, notForSigning, forES512]
    const keySet = createKeySet({
      url: "https://auth.example/.well-known/jwks.json",
      crypto,
      clock: issuer.clock,
      fetch: async () => {
        fetches++
        return Response.json({ keys: published })
      },
    })
    const { issuer: iss, audience, clock } = issuer
    return {
      ...issuer,
      fetches: () => fetches,
      verify: createVerifier({ issuer: iss, audience, clock, keySet, crypto, cacheSize }),
      publish(keys: readonly object[]) {
        published = keys
      },
    }
  }

  test("a valid token yields a frozen context", async () => {
    const { verify, token } = setUp()
    const context = await verify(token({ favourite_colour: "red" }))
    if (typeof context === "string") throw new Error(context)
    expect(context).toMatchObject({
      principal: { id: ids.principal, kind: "USER" },
      identityId: ids.identity,
      sessionId: ids.session,
      actor: null,
      method: "USER_SESSION",
      claims: { favourite_colour: "red" },
    })
    expect(Object.isFrozen(context)).toBe(true)
    expect(Object.isFrozen(context.claims.scp)).toBe(true)
    expect(() => Reflect.apply(Reflect.get(context.scopes, "add"), context.scopes, ["admin"])).toThrow(TypeError)
  })

  describe("the checks run in order, and only the first failure is reported", () => {
    const later = {
      iss: "https://other.example",
      aud: "svc-mail",
      exp: 1,
      app_id: "nonsense",
      principal_type: "root",
      act: { sub: 1 },
    }
    /** A token in which everything is wrong except the named claims, with a valid header except for the changes. */
    const wrong = (good: readonly string[], header: object = {}) => {
      const issuer = createIssuer()
      const bad = Object.fromEntries(Object.entries(later).filter(([name]) => !good.includes(name)))
      return { payload: encode({ ...issuer.claims(), ...bad }), header: encode({ ...issuer.header, ...header }) }
    }
    const worst = { alg: "HS256", typ: "rev+jwt", kid: "../../etc/passwd" }
    const duplicate = `{"alg":"HS256","alg":"none","typ":"rev+jwt","kid":"nobody"}`

    test.each<[string, { header: string; payload: string; signature?: string; tail?: string }, string]>([
      ["1 size", { ...wrong([]), header: encode("x".repeat(9_000)), tail: ".x.y" }, "MALFORMED_CREDENTIAL"],
      ["2 segments", { ...wrong([]), header: encode(duplicate), tail: ".x" }, "MALFORMED_CREDENTIAL"],
      ["3 header", { ...wrong([]), header: encode(duplicate) }, "MALFORMED_CREDENTIAL"],
      ["4 alg", wrong([], worst), "ALG_NOT_ALLOWED"],
      ["5 typ", wrong([], { ...worst, alg: "ES256" }), "TYP_NOT_ALLOWED"],
      ["6 kid", wrong([], { kid: worst.kid }), "KEY_UNKNOWN"],
      ["7 key of another curve", wrong([], { kid: "key-384" }), "KEY_UNKNOWN"],
      ["7 key of another curve whose numbers are as long", wrong([], { kid: "key-k1" }), "KEY_UNKNOWN"],
      ["7 key of another use", wrong([], { kid: "key-enc" }), "KEY_UNKNOWN"],
      ["7 key of another algorithm", wrong([], { kid: "key-es512" }), "KEY_UNKNOWN"],
      ["8 signature's length", { ...wrong([]), signature: encode("short") }, "SIGNATURE_INVALID"],
      ["8 signature", { ...wrong([]), signature: Buffer.alloc(64, 1).toString("base64url") }, "SIGNATURE_INVALID"],
      ["9 iss", wrong([]), "ISSUER_MISMATCH"],
      ["10 aud", wrong(["iss"]), "AUDIENCE_MISMATCH"],
      ["11 exp", wrong(["iss", "aud"]), "TOKEN_EXPIRED"],
      ["12 app_id", wrong(["iss", "aud", "exp"]), "MALFORMED_CREDENTIAL"],
      ["13 principal_type", wrong(["iss", "aud", "exp", "app_id"]), "MALFORMED_CREDENTIAL"],
      ["14 act", wrong(["iss", "aud", "exp", "app_id", "principal_type"]), "MALFORMED_CREDENTIAL"],
    ])("%s", async (_, { header, payload, signature, tail }, reason) => {
      const { verify, signParts } = setUp()
      const signed = signature === undefined ? signParts(header, payload) : `${header}.${payload}.${signature}`
      expect(await verify(`${signed}${tail ?? ""}`)).toBe(reason)
    })

    test("a token without a fault is accepted", async () => {
      const { verify, signParts } = setUp()
      const { header, payload } = wrong(Object.keys(later))
      expect(typeof (await verify(signParts(header, payload)))).toBe("object")
    })
  })

  describe("an attacker's token is refused", () => {
    const { jwk, claims, header, token } = createIssuer()
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 })

    test("without an algorithm", async () => {
      const { verify, claims: ours } = setUp()
      for (const alg of ["none", "None", "NONE", "", null]) {
        for (const typ of ["at+jwt", "JWT"]) {
          expect(await verify(`${encode({ ...header, alg, typ })}.${encode(ours())}.`)).toBe("ALG_NOT_ALLOWED")
        }
      }
    })

    test("with an empty signature", async () => {
      const { verify } = setUp()
      expect(await verify(`${encode(header)}.${encode(claims())}.`)).toBe("SIGNATURE_INVALID")
    })

    test("signed by HS256 with the public key as the secret", async () => {
      const { verify, jwk: own, pair } = setUp()
      const input = `${encode({ ...header, alg: "HS256" })}.${encode(claims())}`
      const secrets = [JSON.stringify(own), pair.publicKey.export({ type: "spki", format: "pem" })]
      for (const secret of secrets) {
        const mac = createHmac("sha256", secret).update(input).digest("base64url")
        expect(await verify(`${input}.${mac}`)).toBe("ALG_NOT_ALLOWED")
      }
    })

    test("signed by RS256", async () => {
      const { verify } = setUp()
      const input = `${encode({ ...header, alg: "RS256" })}.${encode(claims())}`
      const signature = sign("sha256", Buffer.from(input), rsa.privateKey).toString("base64url")
      expect(await verify(`${input}.${signature}`)).toBe("ALG_NOT_ALLOWED")
    })

    test("with a DER signature, whole or cut to 64 bytes", async () => {
      const { verify, pair } = setUp()
      const input = `${encode(header)}.${encode(claims())}`
      const der = sign("sha256", Buffer.from(input), pair.privateKey)
      for (const bytes of [der, der.subarray(0, 64), der.subarray(-64)]) {
        expect(await verify(`${input}.${bytes.toString("base64url")}`)).toBe("SIGNATURE_INVALID")
      }
    })

    test("with a signature of zeros (CVE-2022-21449)", async () => {
      const { verify } = setUp()
      const zeros = Buffer.alloc(64).toString("base64url")
      expect(await verify(`${encode(header)}.${encode(claims())}.${zeros}`)).toBe("SIGNATURE_INVALID")
    })

    test("signed with another issuer's key under a known kid", async () => {
      const { verify } = setUp()
      expect(await verify(token())).toBe("SIGNATURE_INVALID")
    })

    test.each([
      ["a path", "../../../../dev/null"],
      ["SQL", "x' UNION SELECT 'secret' --"],
      ["a very long one", "k".repeat(5_000)],
      ["a list", ["key-1"]],
      ["a number", 1],
      ["none", undefined],
      ["an empty one", ""],
      ["a name of every object", "__proto__"],
      ["a line end", "key-1\n"],
    ])("kid: %s", async (_, kid) => {
      const { verify, token: ours } = setUp()
      expect(await verify(ours({}, { kid }))).toBe("KEY_UNKNOWN")
    })

    test("a kid that the issuer never uses causes no fetch, at any age of the keys", async () => {
      const { verify, token: ours, pass, fetches } = setUp()
      expect(typeof (await verify(ours()))).toBe("object")
      for (const kid of ["../key-1", "k".repeat(129), "", " key-1", ["key-1"], 1, undefined]) {
        pass(30_000)
        expect(await verify(ours({}, { kid }))).toBe("KEY_UNKNOWN")
      }
      expect(fetches()).toBe(1)
      expect(await verify(ours({}, { kid: "k".repeat(128) }))).toBe("KEY_UNKNOWN")
      expect(fetches()).toBe(2)
    })

    test.each([
      ["crit", ["exp"]],
      ["b64", false],
      ["jku", "https://evil.example/jwks"],
      ["jwk", jwk],
      ["x5u", "https://evil.example/cert"],
      ["x5c", ["MII"]],
      ["zip", "DEF"],
    ])("with %s in a signed header", async (name, value) => {
      const { verify, token: ours } = setUp()
      expect(await verify(ours({}, { [name]: value }))).toBe("MALFORMED_CREDENTIAL")
    })

    test("an unknown header parameter is ignored", async () => {
      const { verify, token: ours } = setUp()
      expect(typeof (await verify(ours({}, { note: { alg: "none" } })))).toBe("object")
    })

    test.each([
      ["twice the same name", `{"alg":"ES256","typ":"at+jwt","kid":"key-1","alg":"ES256"}`],
      ["twice, once escaped", `{"alg":"ES256","typ":"at+jwt","kid":"key-1","\\u0061lg":"ES256"}`],
      ["twice, deeper down", `{"alg":"ES256","typ":"at+jwt","kid":"key-1","x":[{"a":1,"a":1}]}`],
      ["a list", `["ES256"]`],
      ["no JSON", `{"alg":"ES256"`],
      ["a byte order mark", `\ufeff{"alg":"ES256","typ":"at+jwt","kid":"key-1"}`],
    ])("with %s in the header", async (_, text) => {
      const { verify, signParts, claims: ours } = setUp()
      expect(await verify(signParts(encode(text), encode(ours())))).toBe("MALFORMED_CREDENTIAL")
    })

    test("with a header of invalid UTF-8", async () => {
      const { verify, signParts, claims: ours } = setUp()
      const part = Buffer.concat([Buffer.from(`{"x":"`), Buffer.from([0xc3, 0x28]), Buffer.from(`"}`)]).toString(
        "base64url",
      )
      expect(await verify(signParts(part, encode(ours())))).toBe("MALFORMED_CREDENTIAL")
    })

    test.each([["JWT"], ["rev+jwt"], ["perm+jwt"], ["ctx+jwt"], ["AT+JWT"], ["application/at+jwt"], [undefined]])(
      "typ %s",
      async (typ) => {
        const { verify, token: ours } = setUp()
        expect(await verify(ours({}, { typ }))).toBe("TYP_NOT_ALLOWED")
      },
    )

    test("a provider's ID token is distinguished from the issuer's tokens", async () => {
      const { verify } = setUp()
      const input = `${encode({ alg: "RS256", typ: "JWT", kid: "g1" })}.${encode({ ...claims(), iss: "https://idp" })}`
      const signature = sign("sha256", Buffer.from(input), rsa.privateKey).toString("base64url")
      expect(await verify(`${input}.${signature}`)).toBe("PROVIDER_TOKEN_NOT_ACCEPTED")
    })

    test.each([[["svc-notes"]], [["svc-notes", "svc-mail"]], [undefined], [""], ["svc-notes "], ["SVC-NOTES"]])(
      "aud %j",
      async (aud) => {
        const { verify, token: ours } = setUp()
        expect(await verify(ours({ aud }))).toBe("AUDIENCE_MISMATCH")
      },
    )

    test("of more than 8 KiB, even if signed", async () => {
      const { verify, token: ours } = setUp()
      const base = ours({ pad: "" }).length
      const most = ours({ pad: "x".repeat(Math.floor(((8_192 - base) * 3) / 4)) })
      expect(most.length).toBeGreaterThan(8_180)
      expect(typeof (await verify(most))).toBe("object")
      expect(await verify(ours({ pad: "x".repeat(6_200) }))).toBe("MALFORMED_CREDENTIAL")
    })

    test("changing any character of a valid token invalidates it", async () => {
      const { verify, token: ours } = setUp()
      const valid = ours()
      const character = fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n")
      await fc.assert(
        fc.asyncProperty(fc.nat(valid.length - 1), character, async (at, put) => {
          const changed = valid.slice(0, at) + put + valid.slice(at + 1)
          expect(typeof (await verify(changed))).toBe(changed === valid ? "object" : "string")
        }),
        { numRuns: 500 },
      )
      // The last character has unused bits, which count, too.
      for (const put of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
        const changed = valid.slice(0, -1) + put
        expect(typeof (await verify(changed))).toBe(changed === valid ? "object" : "string")
      }
    })
  })

  describe("time", () => {
    const now = 1_700_000_000
    test.each<[string, object, string]>([
      ["expired 30 s ago", { iat: now - 630, nbf: now - 630, exp: now - 30 }, "TOKEN_EXPIRED"],
      ["expired 29 s ago, within the skew", { iat: now - 629, nbf: now - 629, exp: now - 29 }, "object"],
      ["a life of 900 s", { exp: now + 900 }, "object"],
      ["a life of 901 s", { exp: now + 901 }, "TOKEN_EXPIRED"],
      ["valid in 30 s, within the skew", { nbf: now + 30, iat: now + 30, exp: now + 600 }, "object"],
      ["valid in 31 s", { nbf: now + 31 }, "TOKEN_NOT_YET_VALID"],
      ["issued in 31 s", { iat: now + 31 }, "TOKEN_NOT_YET_VALID"],
      ["no expiry", { exp: undefined }, "TOKEN_EXPIRED"],
      ["an expiry of null", { exp: null }, "TOKEN_EXPIRED"],
    ])("%s: %s", async (_, change, expected) => {
      const { verify, token } = setUp()
      const result = await verify(token(change))
      expect(typeof result === "string" ? result : typeof result).toBe(expected)
    })
  })

  describe("the cache of verified tokens", () => {
    test("returns the same context until the token expires", async () => {
      const { verify, token, pass } = setUp(10)
      const valid = token()
      const first = await verify(valid)
      expect(typeof first).toBe("object")
      expect(await verify(valid)).toBe(first)
      pass(629_999)
      expect(await verify(valid)).toBe(first)
      pass(1)
      expect(await verify(valid)).toBe("TOKEN_EXPIRED")
    })

    test("drops the tokens of a key that is no longer published", async () => {
      const { verify, token, pass, publish } = setUp(10)
      const valid = token()
      await verify(valid)
      publish([])
      pass(300_001)
      expect(await verify(valid)).toBe("KEY_UNKNOWN")
    })

    test("is keyed by the whole token: another signature is another token", async () => {
      const { verify, token } = setUp(10)
      const valid = token()
      await verify(valid)
      const forged = valid.slice(0, valid.lastIndexOf(".") + 1) + Buffer.alloc(64, 7).toString("base64url")
      expect(await verify(forged)).toBe("SIGNATURE_INVALID")
    })

    test("evicts the oldest, and stores no refusal", async () => {
      const { verify, token } = setUp(2)
      const tokens = ["a", "b", "c"].map((jti) => token({ jti }))
      const contexts = []
      for (const text of tokens) contexts.push(await verify(text))
      expect(await verify(tokens[1] ?? "")).toBe(contexts[1])
      expect(await verify(tokens[0] ?? "")).not.toBe(contexts[0])
    })
  })
})
