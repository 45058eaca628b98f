import {
  buildCertificateClaims,
  certificateSeconds,
  longestCertificateMs,
} from "@signet/kernel/machine/envelope-certificate"
import { describe, expect, test } from "vitest"
import { untimely } from "../jwt.ts"
import { createKeySet, createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { createIssuer, encode, ids } from "../testing/issuer.ts"
import { createCertify } from "./certificate.ts"

const ownedAudiences = ["svc-web"]
const account = { principalId: ids.service, clientId: "svc-web", appId: ids.app, ownedAudiences }

/** A receiver with an issuer that counts requests and answers with `state.answer`. */
function setUp(cacheSize = 10, isAsking = true) {
  const issuer = createIssuer()
  const { x, y } = createIssuer().jwk
  const sign = (kid = "key-a", change: object = {}, header: object = { typ: "ekc+jwt" }) => {
    const nowSeconds = Math.floor(issuer.clock.nowMs() / 1_000)
    const of = { issuer: issuer.issuer, account, key: { kid, x, y }, mailboxes: ["svc-notes/*"], nowSeconds }
    const claims = { ...buildCertificateClaims(of), ...change }
    return issuer.signParts(encode({ ...issuer.header, ...header }), encode(claims))
  }
  const state = { asked: [] as string[], answer: (kid: string): string | undefined => sign(kid) }
  const certify = createCertify({
    issuer: issuer.issuer,
    contextKeys: createLocalKeySet(issuer, nodeTokenCrypto),
    crypto: nodeTokenCrypto,
    clock: issuer.clock,
    cacheSize,
    ...(isAsking
      ? {
          findCertificate: async (kid: string) => {
            state.asked.push(kid)
            return state.answer(kid)
          },
        }
      : {}),
  })
  const certified = async (kid: string, certificate: string) => {
    const found = await certify(kid, certificate)
    return typeof found === "string" ? found : { kid: found.kid, principalId: found.principalId }
  }
  const expire = () => issuer.pass((certificateSeconds + 31) * 1_000)
  return { issuer, sign, state, certified, expire }
}

const ofKey = (kid: string) => ({ kid, principalId: ids.service })

describe("the certificate of an envelope key", () => {
  test("is accepted for its own key without a request", async () => {
    const { certified, sign, state } = setUp()
    expect(await certified("key-a", sign())).toEqual(ofKey("key-a"))
    expect(await certified("key-b", sign())).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(state.asked).toEqual([])
  })

  test.each<[string, object, object?]>([
    ["of another issuer", { iss: "https://other.example" }],
    ["that names no issuer", { iss: undefined }],
    ["that lives too long", { exp: 1_700_000_000 + certificateSeconds + 1 }],
    ["of no principal", { sub: ids.app }],
    [
      "whose key is no point of the curve",
      { cnf: { jwk: { kty: "EC", crv: "P-256", kid: "key-a", x: "AA", y: "AA" } } },
    ],
    ["of another type", {}, { typ: "at+jwt" }],
    ["under a key that the service has not", {}, { typ: "ekc+jwt", kid: "key-9" }],
  ])("is refused %s, without a request", async (_, change, header) => {
    const { certified, sign, state } = setUp()
    expect(await certified("key-a", sign("key-a", change, header))).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(state.asked).toEqual([])
  })

  test("is not accepted before its time", async () => {
    const { certified, sign } = setUp()
    const later = 1_700_000_031
    expect(await certified("key-a", sign("key-a", { iat: later, nbf: later, exp: later + 60 }))).toBe(
      "ENVELOPE_CERTIFICATE_INVALID",
    )
  })

  test("cannot be verified while the service's keys are unavailable", async () => {
    const { issuer, sign } = setUp()
    const { clock } = issuer
    const crypto = nodeTokenCrypto
    const fetch = () => Promise.reject(new Error("no route to host"))
    const contextKeys = createKeySet({ url: "https://auth.example/keys.json", crypto, clock, fetch })
    const certify = createCertify({ issuer: issuer.issuer, contextKeys, crypto, clock, cacheSize: 10 })
    expect(await certify("key-a", sign())).toBe("UNAVAILABLE")
  })

  test("that expired is refused without a way to fetch a newer one", async () => {
    const { certified, sign, expire } = setUp(10, false)
    const old = sign()
    expire()
    expect(await certified("key-a", old)).toBe("ENVELOPE_CERTIFICATE_EXPIRED")
  })

  test("that expired for another key causes no request", async () => {
    const { certified, sign, expire, state } = setUp()
    const old = sign("key-b")
    expire()
    expect(await certified("key-a", old)).toBe("ENVELOPE_CERTIFICATE_INVALID")
    expect(state.asked).toEqual([])
  })

  test("that expired is replaced by the current one, which is fetched once while valid", async () => {
    const { issuer, certified, sign, expire, state } = setUp()
    const old = sign()
    expire()
    for (let i = 0; i < 3; i++) expect(await certified("key-a", old)).toEqual(ofKey("key-a"))
    issuer.pass(120_000)
    expect(await certified("key-a", old)).toEqual(ofKey("key-a"))
    expect(state.asked).toEqual(["key-a"])
    expire()
    expect(await certified("key-a", old)).toEqual(ofKey("key-a"))
    expect(state.asked).toEqual(["key-a", "key-a"])
  })

  test("is fetched at most once a minute, while the answer is expired or missing", async () => {
    for (const answer of ["EXPIRED", "NONE"] as const) {
      const { issuer, certified, sign, expire, state } = setUp()
      const old = sign()
      expire()
      state.answer = () => (answer === "NONE" ? undefined : old)
      const reason = answer === "NONE" ? "ENVELOPE_KEY_REVOKED" : "ENVELOPE_CERTIFICATE_EXPIRED"
      expect(await certified("key-a", old)).toBe(reason)
      issuer.pass(59_999)
      expect(await certified("key-a", old)).toBe(reason)
      expect(state.asked).toHaveLength(1)
      issuer.pass(1)
      expect(await certified("key-a", old)).toBe(reason)
      expect(state.asked).toHaveLength(2)
    }
  })

  test("of another key or another issuer is not accepted as an answer", async () => {
    const { certified, sign, expire, state } = setUp()
    const old = [sign("key-a"), sign("key-c")] as const
    expire()
    state.answer = () => sign("key-b")
    expect(await certified("key-a", old[0])).toBe("ENVELOPE_CERTIFICATE_INVALID")
    state.answer = () => sign("key-c", { iss: "https://other.example" })
    expect(await certified("key-c", old[1])).toBe("ENVELOPE_CERTIFICATE_INVALID")
  })

  test("is UNAVAILABLE while the service does not answer, which is not cached", async () => {
    const { certified, sign, expire, state } = setUp()
    const old = sign()
    expire()
    state.answer = () => {
      throw new Error("no route to host")
    }
    expect(await certified("key-a", old)).toBe("UNAVAILABLE")
    state.answer = (kid) => sign(kid)
    expect(await certified("key-a", old)).toEqual(ofKey("key-a"))
  })

  test.each([
    [2, ["a", "b", "c", "c", "b", "a"], ["a", "b", "c", "a"]],
    [0, ["a", "a"], ["a", "a"]],
  ])("is remembered for %i keys, the oldest forgotten first", async (cacheSize, calls, asked) => {
    const { certified, sign, expire, state } = setUp(cacheSize)
    const old = new Map(calls.map((kid) => [kid, sign(kid)]))
    expire()
    for (const kid of calls) expect(await certified(kid, old.get(kid) ?? "")).toEqual(ofKey(kid))
    expect(state.asked).toEqual(asked)
  })
})

test("a revocation is stored until every earlier certificate is refused as expired", () => {
  const nowSeconds = 1_000
  const key = { kid: "key-a", x: "x", y: "y" }
  const claims = buildCertificateClaims({ issuer: "https://auth.example", account, key, mailboxes: [], nowSeconds })
  const endMs = nowSeconds * 1_000 + longestCertificateMs
  expect([untimely(claims, endMs - 1), untimely(claims, endMs)]).toEqual([undefined, "TOKEN_EXPIRED"])
})

test("times that are not numbers are left to the reader of the claims", () => {
  const nowMs = 1_000_000
  for (const claims of [{ exp: "1" }, { nbf: "9999" }, { iat: "9999" }]) expect(untimely(claims, nowMs)).toBeUndefined()
  expect(untimely({ exp: 970 }, nowMs)).toBe("TOKEN_EXPIRED")
  for (const claims of [{ nbf: 1_031 }, { iat: 1_031 }]) expect(untimely(claims, nowMs)).toBe("TOKEN_NOT_YET_VALID")
  for (const claims of [{ exp: 971 }, { nbf: 1_030 }, { iat: 1_030 }]) expect(untimely(claims, nowMs)).toBeUndefined()
})
