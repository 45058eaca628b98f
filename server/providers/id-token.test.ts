import { createHash } from "node:crypto"
import { Refused } from "@signet/kernel/errors"
import type { ProviderClient } from "@signet/kernel/records"
import { providerClient } from "@signet/kernel/testing/records"
import { CompactSign, exportSPKI, generateKeyPair, importJWK, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type FakeIdp, type MintOptions, startFakeIdp } from "../../test/support/idp.ts"
import { createSecrets } from "../keys/secrets.ts"
import { createIdpA } from "./idp-a.ts"

const clock = { nowMs: () => 1_800_000_000_000 }
const now = clock.nowMs() / 1000
const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
let idp: FakeIdp
let client: ProviderClient
const idpA = createIdpA({ clock, secrets, isLoopbackAllowed: true })

beforeAll(async () => {
  idp = await startFakeIdp(clock)
  client = { ...providerClient, issuers: [idp.issuer], canonicalIssuer: idp.issuer, jwksUri: idp.jwksUri }
})
afterAll(() => idp.stop())

/** "ok", or the reason and what was wrong. */
async function signIn(idToken: string, nonce = "n-1", change: Partial<ProviderClient> = {}): Promise<string> {
  try {
    await idpA.verify({ ...client, ...change }, { is: "idToken", idToken }, nonce)
    return "ok"
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return `${error.reason} ${error.metadata.claim}`
  }
}

const encode = (json: unknown) => Buffer.from(JSON.stringify(json)).toString("base64url")
const sha256 = (text: string) => createHash("sha256").update(text)

describe("an ID token of the provider", () => {
  test.each(["RS256", "ES256"] as const)("signed with %s vouches for its subject", async (alg) => {
    const claims = { email: "ada@example.com", email_verified: true, name: "Ada", auth_time: now - 60 }
    const idToken = await idp.mint({ alg, claims })
    expect(await idpA.verify(client, { is: "idToken", idToken }, "n-1")).toEqual({
      issuer: idp.issuer,
      subject: "ada",
      providerTenant: null,
      email: "ada@example.com",
      emailVerified: true,
      isRelayEmail: false,
      name: "Ada",
      authTimeMs: (now - 60) * 1000,
      providerRefreshToken: null,
      singleUse: {
        tokenHash: new Uint8Array(sha256(idToken.slice(0, idToken.lastIndexOf("."))).digest()),
        expiresAtMs: (now + 601) * 1000,
      },
    })
  })

  test("whose email_verified is the text true has no verified email", async () => {
    const idToken = await idp.mint({ claims: { email: "ada@example.com", email_verified: "true" } })
    expect(await idpA.verify(client, { is: "idToken", idToken }, "n-1")).toMatchObject({ emailVerified: false })
  })
})

describe("an ID token is refused", () => {
  test.each<[string, MintOptions, string]>([
    ["for another client", { claims: { aud: "other" } }, "PROVIDER_TOKEN_INVALID aud"],
    ["for the client among others", { claims: { aud: ["notes-web", "other"] } }, "PROVIDER_TOKEN_INVALID aud"],
    ["that another client asked for", { claims: { azp: "other" } }, "PROVIDER_TOKEN_INVALID azp"],
    ["of another issuer", { claims: { iss: "https://evil.example" } }, "PROVIDER_TOKEN_INVALID iss"],
    ["that has expired", { claims: { exp: now - 31 } }, "PROVIDER_TOKEN_INVALID exp"],
    ["that is older than 10 minutes", { claims: { iat: now - 601 } }, "PROVIDER_TOKEN_INVALID iat"],
    ["from the future", { claims: { iat: now + 60 } }, "PROVIDER_TOKEN_INVALID iat"],
    ["of nobody", { without: ["sub"] }, "PROVIDER_TOKEN_INVALID sub"],
    ["with another nonce", { claims: { nonce: "n-2" } }, "NONCE_MISMATCH nonce"],
    ["without a nonce", { without: ["nonce"] }, "NONCE_MISMATCH nonce"],
    ["under a kid that is not published", { header: { kid: "other" } }, "PROVIDER_TOKEN_INVALID kid"],
    ["without a kid", { header: { kid: undefined } }, "PROVIDER_TOKEN_INVALID kid"],
    ["with a kid that is no text", { header: { kid: 1 } }, "PROVIDER_TOKEN_INVALID kid"],
    ["with a kid of a thousand characters", { header: { kid: "k".repeat(1000) } }, "PROVIDER_TOKEN_INVALID kid"],
    ["typed as an access token", { header: { typ: "at+jwt" } }, "PROVIDER_TOKEN_INVALID typ"],
    ["typed as a logout token", { header: { typ: "logout+jwt" } }, "PROVIDER_TOKEN_INVALID typ"],
    ["that brings an address of keys", { header: { jku: "https://evil.example" } }, "PROVIDER_TOKEN_INVALID header"],
    ["that brings a certificate", { header: { x5c: ["MII"] } }, "PROVIDER_TOKEN_INVALID header"],
    [
      "that brings a certificate's address",
      { header: { x5u: "https://evil.example" } },
      "PROVIDER_TOKEN_INVALID header",
    ],
    ["larger than 16 KiB", { claims: { padding: "x".repeat(16_384) } }, "PROVIDER_TOKEN_INVALID size"],
  ])("%s", async (_, options, expected) => {
    expect(await signIn(await idp.mint(options))).toBe(expected)
  })

  test("whose header contains its own key", async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
    const jwk = await crypto.subtle.exportKey("jwk", publicKey)
    const token = await new SignJWT({ iss: idp.issuer, aud: "notes-web", sub: "eve", iat: now, exp: now + 60 })
      .setProtectedHeader({ alg: "ES256", kid: "key-1", jwk: { kty: "EC", crv: "P-256", x: jwk.x, y: jwk.y } })
      .sign(privateKey)
    expect(await signIn(token)).toBe("PROVIDER_TOKEN_INVALID header")
  })

  test("whose header declares that it is unsigned", async () => {
    const [, payload] = (await idp.mint()).split(".")
    for (const alg of ["none", "None", "NONE", ""]) {
      const header = encode({ alg, kid: "key-1" })
      expect(await signIn(`${header}.${payload}.`)).toBe("PROVIDER_TOKEN_INVALID form")
      expect(await signIn(`${header}.${payload}.AA`)).toBe("PROVIDER_TOKEN_INVALID alg")
    }
  })

  test("whose secret is the published key", async () => {
    const key = await importJWK(idp.publishedKey(), "RS256", { extractable: true })
    if (key instanceof Uint8Array) throw new Error("not a public key")
    const [, payload = ""] = (await idp.mint()).split(".")
    for (const secret of [await exportSPKI(key), JSON.stringify(idp.publishedKey()), idp.publishedKey().n ?? ""]) {
      const token = await new CompactSign(Buffer.from(payload, "base64url"))
        .setProtectedHeader({ alg: "HS256", kid: "key-1" })
        .sign(new TextEncoder().encode(secret))
      expect(await signIn(token)).toBe("PROVIDER_TOKEN_INVALID alg")
    }
  })

  test("whose algorithm is another one of the same key", async () => {
    const { privateKey } = await generateKeyPair("PS256")
    const token = await new SignJWT({}).setProtectedHeader({ alg: "PS256", kid: "key-1" }).sign(privateKey)
    expect(await signIn(token)).toBe("PROVIDER_TOKEN_INVALID alg")
  })

  test("that another key signed under a published kid", async () => {
    const { privateKey } = await generateKeyPair("RS256")
    const token = await new SignJWT({ iss: idp.issuer, aud: "notes-web", sub: "eve", iat: now, exp: now + 60 })
      .setProtectedHeader({ alg: "RS256", kid: "key-1" })
      .sign(privateKey)
    expect(await signIn(token)).toBe("PROVIDER_TOKEN_INVALID signature")
  })

  test("whose claims were changed after it was signed", async () => {
    const [header, payload = "", signature] = (await idp.mint()).split(".")
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString())
    expect(await signIn(`${header}.${encode({ ...claims, sub: "eve" })}.${signature}`)).toBe(
      "PROVIDER_TOKEN_INVALID signature",
    )
  })

  test("with a critical extension, known or not", async () => {
    const [, payload, signature] = (await idp.mint()).split(".")
    const header = encode({ alg: "RS256", kid: "key-1", crit: ["b64"], b64: true })
    expect(await signIn(`${header}.${payload}.${signature}`)).toBe("PROVIDER_TOKEN_INVALID header")
  })

  test.each(["", ".", "..", "a.b", "a.b.c.d", "a b.c.d", "é.e.e", "e30.e30.e30=", "W10.e30.AA", "bm90.e30.AA"])(
    "that is malformed: %j",
    async (text) => {
      expect(await signIn(text)).toMatch(/^PROVIDER_TOKEN_INVALID (form|alg)$/)
    },
  )
})

describe("a token that no provider could have made", () => {
  /** What was wrong, and how many requests it took to say so. */
  async function refusal(idToken: string): Promise<[unknown, number]> {
    let asked = 0
    const fetch = async () => {
      asked++
      return Response.json({ keys: [idp.publishedKey()] })
    }
    const { verify } = createIdpA({ clock, secrets, isLoopbackAllowed: true, fetch })
    const error: unknown = await verify(client, { is: "idToken", idToken }, "n-1").catch((thrown: unknown) => thrown)
    if (!(error instanceof Refused)) throw error
    return [error.metadata.claim, asked]
  }

  test.each<[string, unknown, number]>([
    ["no kid", undefined, 0],
    ["a kid that is no text", 1, 0],
    ["an empty kid", "", 0],
    ["a kid of 257 characters", "k".repeat(257), 0],
    ["a kid of 256 characters", "k".repeat(256), 1],
  ])("with %s costs no request", async (_, kid, asked) => {
    const [, payload, signature] = (await idp.mint()).split(".")
    expect(await refusal(`${encode({ alg: "RS256", kid })}.${payload}.${signature}`)).toEqual(["kid", asked])
  })

  test.each<[string, unknown]>([
    ["null", null],
    ["a list", []],
    ["a number", 5],
    ["a text", "x"],
  ])("whose header is %s", async (_, header) => {
    const [, payload, signature] = (await idp.mint()).split(".")
    expect(await refusal(`${encode(header)}.${payload}.${signature}`)).toEqual(["form", 0])
  })

  test("with a fourth part", async () => {
    expect(await refusal(`${await idp.mint()}.AA`)).toEqual(["form", 0])
  })

  test("with one character more than 16 KiB", async () => {
    const ofLength = (length: number) => `${"a".repeat(length - 4)}.a.a`
    expect(await refusal(ofLength(16_384))).toEqual(["form", 0])
    expect(await refusal(ofLength(16_385))).toEqual(["size", 0])
  })
})

describe("each client accepts one form of the nonce", () => {
  const forms = {
    RAW: "n-1",
    SHA256_HEX: sha256("n-1").digest("hex"),
    SHA256_B64URL: sha256("n-1").digest("base64url"),
  }
  const modes = ["RAW", "SHA256_HEX", "SHA256_B64URL"] as const
  const pairs = modes.flatMap((mode) => modes.map((carried) => [mode, carried] as const))
  test.each(pairs)("a client of %s and a token with %s", async (nonceMode, carried) => {
    const token = await idp.mint({ claims: { nonce: forms[carried] } })
    expect(await signIn(token, "n-1", { nonceMode })).toBe(nonceMode === carried ? "ok" : "NONCE_MISMATCH nonce")
  })

  test("the hash of no nonce is no nonce", async () => {
    const token = await idp.mint({ claims: { nonce: sha256("").digest("hex") } })
    const change = { nonceMode: "SHA256_HEX", requireNonce: false } as const
    expect(await signIn(token, "", change)).toBe("NONCE_MISMATCH nonce")
  })
})

test("no request goes to an address without TLS, even a configured one", async () => {
  const asked: string[] = []
  const fetch = async (url: string) => {
    asked.push(url)
    return Response.json({ keys: [idp.publishedKey()] })
  }
  const verify = async (jwksUri: string) =>
    createIdpA({ clock, secrets, isLoopbackAllowed: true, fetch }).verify(
      { ...client, jwksUri },
      { is: "idToken", idToken: await idp.mint() },
      "n-1",
    )
  await expect(verify("http://idp-a.example/jwks")).rejects.toMatchObject({ reason: "UPSTREAM_UNAVAILABLE" })
  expect(asked).toEqual([])
  expect(await verify("https://idp-a.example/jwks")).toMatchObject({ subject: "ada" })
  expect(asked).toEqual(["https://idp-a.example/jwks"])
})
