import { createHash } from "node:crypto"
import { Refused } from "@signet/kernel/errors"
import type { Platform, ProviderClient } from "@signet/kernel/records"
import { CompactSign, exportSPKI, generateKeyPair, importJWK, SignJWT } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { type FakeIdp, startFakeIdp } from "../../test/support/idp.ts"
import { adaSubject, type FakeIdpB, type MintBOptions, startFakeIdpB } from "../../test/support/idp-b.ts"
import { bundleId, idpBIssuers, servicesId, teamId } from "../development/idp-b-clients.ts"
import { createSecrets } from "../keys/secrets.ts"
import { createIdpB, isTrue } from "./idp-b.ts"

const clock = { nowMs: () => 1_800_000_000_000 }
const now = clock.nowMs() / 1000
const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
const idpB = createIdpB({ clock, secrets, isLoopbackAllowed: true })
let idp: FakeIdpB
let idpA: FakeIdp

beforeAll(async () => {
  idp = await startFakeIdpB({ clock, secrets })
  idpA = await startFakeIdp(clock)
})
beforeEach(() => {
  idp.switches.issuer = "first"
})
afterAll(() => Promise.all([idp.stop(), idpA.stop()]))

const verify = (idToken: string, client = idp.clientOf("WEB"), nonce = "n-1") =>
  idpB.verify(client, { is: "idToken", idToken }, nonce)

/** "ok", or the reason and what was wrong. */
async function signIn(idToken: string, client?: ProviderClient, nonce?: string): Promise<string> {
  try {
    await verify(idToken, client, nonce)
    return "ok"
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return [error.reason, ...Object.values(error.metadata)].join(" ")
  }
}

describe("an identity token", () => {
  test.each(["RS256", "ES256"] as const)("signed with %s vouches for its subject in its team", async (alg) => {
    const idToken = await idp.mint({ alg, claims: { auth_time: now - 60, name: "Ada" } })
    expect(await verify(idToken)).toEqual({
      issuer: idpBIssuers[0],
      subject: adaSubject,
      providerTenant: teamId,
      email: "ada@example.com",
      emailVerified: true,
      isRelayEmail: false,
      // The provider says no name in tokens; what says one is not taken for it.
      name: null,
      authTimeMs: (now - 60) * 1000,
      providerRefreshToken: null,
      singleUse: {
        tokenHash: secrets.digest(idToken.slice(0, idToken.lastIndexOf("."))),
        expiresAtMs: (now + 601) * 1000,
      },
    })
  })

  test.each(["first", "second"] as const)("of the %s issuer is of the one that is stored", async (issuer) => {
    idp.switches.issuer = issuer
    expect(await verify(await idp.mint())).toMatchObject({ issuer: idpBIssuers[0], subject: adaSubject })
  })

  test.each<[Platform, string]>([
    ["IOS", bundleId],
    ["ANDROID", servicesId],
    ["WEB", servicesId],
  ])("is for %s when its audience is %s", async (platform, aud) => {
    const other = aud === bundleId ? servicesId : bundleId
    expect(await signIn(await idp.mint({ platform }), idp.clientOf(platform))).toBe("ok")
    expect(await signIn(await idp.mint({ platform, claims: { aud: other } }), idp.clientOf(platform))).toBe(
      "PROVIDER_TOKEN_INVALID aud",
    )
  })

  test("for a client without a team is refused, whatever its claims", async () => {
    const before = idp.asked["/auth/keys"]
    expect(await signIn(await idp.mint(), idp.clientOf("WEB", { providerTenant: null }))).toBe(
      "PROVIDER_NOT_CONFIGURED",
    )
    expect(idp.asked["/auth/keys"]).toBe(before)
  })
})

describe("a boolean of the provider", () => {
  const table: [unknown, boolean][] = [
    [true, true],
    ["true", true],
    [false, false],
    ["false", false],
    ["TRUE", false],
    ["True", false],
    [" true", false],
    ["true\n", false],
    ["1", false],
    ["yes", false],
    ["", false],
    [1, false],
    [0, false],
    [null, false],
    [undefined, false],
    [["true"], false],
    [{}, false],
  ]
  test.each(table)("%j is true: %s", (value, expected) => {
    expect(isTrue(value)).toBe(expected)
  })

  test.each(table)("that is %j counts for the email: %s", async (value, expected) => {
    const claims = { email_verified: value, is_private_email: value }
    expect(await verify(await idp.mint({ claims }))).toMatchObject({ emailVerified: expected, isRelayEmail: expected })
  })
})

describe("an identity token is refused", () => {
  test.each<[string, MintBOptions, string]>([
    ["of another team's app", { claims: { aud: "com.example.other" } }, "PROVIDER_TOKEN_INVALID aud"],
    ["for the client and a stranger", { claims: { aud: [servicesId, "other"] } }, "PROVIDER_TOKEN_INVALID aud"],
    ["that another client asked for", { claims: { azp: "com.example.other" } }, "PROVIDER_TOKEN_INVALID azp"],
    ["of another issuer", { claims: { iss: "https://evil.example" } }, "PROVIDER_TOKEN_INVALID iss"],
    ["of an issuer with a slash more", { claims: { iss: `${idpBIssuers[0]}/` } }, "PROVIDER_TOKEN_INVALID iss"],
    ["of both issuers", { claims: { iss: [...idpBIssuers] } }, "PROVIDER_TOKEN_INVALID iss"],
    [
      "that is older than 10 minutes, though it lives a day",
      { claims: { iat: now - 601 } },
      "PROVIDER_TOKEN_INVALID iat",
    ],
    ["that has expired", { claims: { exp: now - 31 } }, "PROVIDER_TOKEN_INVALID exp"],
    ["of nobody", { without: ["sub"] }, "PROVIDER_TOKEN_INVALID sub"],
    ["without a nonce", { without: ["nonce"] }, "NONCE_MISMATCH nonce"],
    ["with another nonce", { claims: { nonce: "n-2" } }, "NONCE_MISMATCH nonce"],
    ["under a kid that is not published", { header: { kid: "other" } }, "PROVIDER_TOKEN_INVALID kid"],
    ["under a kid of IDP_A", { header: { kid: "key-1" } }, "PROVIDER_TOKEN_INVALID kid"],
    ["typed as something else", { header: { typ: "secevent+jwt" } }, "PROVIDER_TOKEN_INVALID typ"],
    ["that brings an address of keys", { header: { jku: "https://evil.example" } }, "PROVIDER_TOKEN_INVALID header"],
  ])("%s", async (_, options, expected) => {
    expect(await signIn(await idp.mint(options))).toBe(expected)
  })

  test("with a signature by IDP_A", async () => {
    const claims = { iss: idpBIssuers[0], aud: servicesId, sub: adaSubject }
    expect(await signIn(await idpA.mint({ claims }))).toBe("PROVIDER_TOKEN_INVALID kid")
  })

  test("that another key signed under a published kid", async () => {
    const { privateKey } = await generateKeyPair("RS256")
    const kid = idp.state.keys.published[0]?.kid ?? ""
    const token = await new SignJWT({ iss: idpBIssuers[0], aud: servicesId, sub: "eve", iat: now, exp: now + 60 })
      .setProtectedHeader({ alg: "RS256", kid })
      .sign(privateKey)
    expect(await signIn(token)).toBe("PROVIDER_TOKEN_INVALID signature")
  })

  test("whose secret is the published key", async () => {
    const [, payload = ""] = (await idp.mint()).split(".")
    for (const jwk of idp.state.keys.published) {
      const key = await importJWK(jwk, jwk.alg, { extractable: true })
      if (key instanceof Uint8Array) throw new Error("not a public key")
      for (const secret of [await exportSPKI(key), JSON.stringify(jwk)]) {
        const token = await new CompactSign(Buffer.from(payload, "base64url"))
          .setProtectedHeader({ alg: "HS256", kid: jwk.kid ?? "" })
          .sign(new TextEncoder().encode(secret))
        expect(await signIn(token)).toBe("PROVIDER_TOKEN_INVALID alg")
      }
    }
  })

  test("whose algorithm is the other one that is published, under the kid of the first", async () => {
    const [rsa, ec] = idp.state.keys.published
    for (const [alg, kid] of [
      ["ES256", rsa?.kid],
      ["RS256", ec?.kid],
    ] as const) {
      expect(await signIn(await idp.mint({ alg, header: { kid } }))).toBe("PROVIDER_TOKEN_INVALID kid")
    }
  })

  test("that is a notification, and a notification that is an identity token", async () => {
    expect(await signIn(await idp.notify())).toBe("PROVIDER_TOKEN_INVALID sub")
    await expect(idpB.read([idp.clientOf("WEB")], await idp.mint())).rejects.toMatchObject({
      metadata: { claim: "jti" },
    })
  })
})

describe("each client accepts one form of the nonce", () => {
  const hash = createHash("sha256").update("n-1")
  const digest = hash.digest()
  const forms = { RAW: "n-1", SHA256_HEX: digest.toString("hex"), SHA256_B64URL: digest.toString("base64url") }
  const modes = ["RAW", "SHA256_HEX", "SHA256_B64URL"] as const
  const pairs = modes.flatMap((mode) => modes.map((carried) => [mode, carried] as const))
  test.each(pairs)("a client of %s and a token with %s", async (nonceMode, carried) => {
    const token = await idp.mint({ claims: { nonce: forms[carried] } })
    expect(await signIn(token, idp.clientOf("WEB", { nonceMode }))).toBe(
      nonceMode === carried ? "ok" : "NONCE_MISMATCH nonce",
    )
  })
})
