import { Refused } from "@signet/kernel/errors"
import type { ProviderClient } from "@signet/kernel/records"
import { CompactSign, exportSPKI, generateKeyPair, importJWK, SignJWT } from "jose"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { adaSubject, type FakeIdpB, startFakeIdpB } from "../../test/support/idp-b.ts"
import { bundleId, idpBIssuers, servicesId, teamId } from "../development/idp-b-clients.ts"
import { createSecrets } from "../keys/secrets.ts"
import { createIdpB } from "./idp-b.ts"

const clock = { nowMs: () => 1_800_000_000_000 }
const now = clock.nowMs() / 1000
const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
const idpB = createIdpB({ clock, secrets, isLoopbackAllowed: true })
let idp: FakeIdpB
let clients: readonly ProviderClient[]

beforeAll(async () => {
  idp = await startFakeIdpB({ clock, secrets })
})
beforeEach(() => {
  idp.switches.issuer = "first"
  clients = (["WEB", "ANDROID", "IOS"] as const).map((platform) => idp.clientOf(platform))
})
afterAll(() => idp.stop())

/** What changed, or the reason and what was wrong. */
async function read(jws: string, of = clients): Promise<string> {
  try {
    return (await idpB.read(of, jws)).change
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return [error.reason, ...Object.values(error.metadata)].join(" ")
  }
}

describe("a notification", () => {
  test.each(["first", "second"] as const)("of the %s issuer names the account as it is stored", async (issuer) => {
    idp.switches.issuer = issuer
    expect(await idpB.read(clients, await idp.notify())).toEqual({
      id: "jti-1",
      issuer: idpBIssuers[0],
      providerTenant: teamId,
      subject: adaSubject,
      change: "CONSENT_REVOKED",
      expiresAtMs: (now + 86_401) * 1000,
    })
  })

  test.each(["RS256", "ES256"] as const)("is verified with %s", async (alg) => {
    expect(await read(await idp.notify({ alg, platform: "IOS", event: { type: "account-delete" } }))).toBe(
      "ACCOUNT_DELETED",
    )
  })

  test("is refused for an audience of nobody here, before any key is looked up", async () => {
    const fresh = createIdpB({ clock, secrets, isLoopbackAllowed: true })
    const asked = idp.asked["/auth/keys"]
    const jws = await idp.notify({ claims: { aud: "com.example.other" } })
    await expect(fresh.read(clients, jws)).rejects.toMatchObject({ metadata: { claim: "aud" } })
    await expect(fresh.read([], await idp.notify())).rejects.toMatchObject({ metadata: { claim: "aud" } })
    expect(idp.asked["/auth/keys"]).toBe(asked)
  })

  test("is refused when two teams claim its audience, and is none of a third's", async () => {
    const stranger = idp.clientOf("WEB", { providerTenant: "EVILTEAM01" })
    expect(await read(await idp.notify(), [...clients, stranger])).toBe("PROVIDER_TOKEN_INVALID aud")
    expect(await read(await idp.notify({ platform: "IOS" }), [...clients, stranger])).toBe("CONSENT_REVOKED")
  })

  test.each<[string, (client: ProviderClient) => Partial<ProviderClient>]>([
    ["keys", ({ jwksUri }) => ({ jwksUri: `${jwksUri}/other` })],
    ["an issuer", () => ({ canonicalIssuer: "https://evil.example" })],
    ["one issuer more", ({ issuers }) => ({ issuers: [...issuers, "https://evil.example"] })],
    ["one issuer fewer", ({ issuers }) => ({ issuers: issuers.slice(1) })],
    ["an issuer instead", ({ issuers }) => ({ issuers: [...issuers.slice(1), "https://evil.example"] })],
  ])("is refused when clients of its audience disagree on %s", async (_, change) => {
    const [own] = clients
    const stranger = idp.clientOf("WEB", own && change(own))
    expect(await read(await idp.notify(), [...clients, stranger])).toBe("PROVIDER_TOKEN_INVALID aud")
    expect(await read(await idp.notify(), [stranger, ...clients])).toBe("PROVIDER_TOKEN_INVALID aud")
  })

  test.each<[string, Parameters<FakeIdpB["notify"]>[0], string]>([
    ["old", { claims: { iat: now - 86_401, exp: undefined } }, "iat"],
    ["of another issuer", { claims: { iss: "https://evil.example" } }, "iss"],
    ["for a list of audiences", { claims: { aud: [bundleId] } }, "aud"],
    ["with its event as an object", { claims: { events: { type: "consent-revoked", sub: adaSubject } } }, "events"],
    ["with two events", { claims: { events: "[{},{}]" } }, "events"],
    ["with half an event", { claims: { events: '{"type":' } }, "events"],
    ["with no event", { without: ["events"] }, "events"],
    ["without an id", { without: ["jti"] }, "jti"],
    ["under a kid that is not published", { header: { kid: "key-1" } }, "kid"],
    ["with a critical extension", { header: { crit: ["b64"], b64: true } }, "header"],
  ])("is refused %s", async (_, options, claim) => {
    expect(await read(await idp.notify(options))).toBe(`PROVIDER_TOKEN_INVALID ${claim}`)
  })

  test.each(["", "a.b", "a.b.c", `${"a".repeat(17_000)}.b.c`, "{}", "e30.e30.e30"])(
    "is no notification: %.20j",
    async (text) => {
      expect(await read(text)).toMatch(/^PROVIDER_TOKEN_INVALID /)
    },
  )

  test("is refused with another signer's signature", async () => {
    const { privateKey } = await generateKeyPair("RS256")
    const events = JSON.stringify({ type: "account-deleted", sub: adaSubject, event_time: now })
    const jws = await new SignJWT({ iss: idpBIssuers[0], aud: servicesId, iat: now, jti: "x", events })
      .setProtectedHeader({ alg: "RS256", kid: idp.state.keys.published[0]?.kid ?? "" })
      .sign(privateKey)
    expect(await read(jws)).toBe("PROVIDER_TOKEN_INVALID signature")
  })

  test("is refused when its event was changed", async () => {
    const [header, payload = "", signature] = (await idp.notify()).split(".")
    const changed = Buffer.from(payload, "base64url").toString().replace("consent-revoked", "account-deleted")
    expect(await read(`${header}.${Buffer.from(changed).toString("base64url")}.${signature}`)).toBe(
      "PROVIDER_TOKEN_INVALID signature",
    )
  })

  test("is refused when the published key is its secret", async () => {
    const [jwk] = idp.state.keys.published
    const key = await importJWK(jwk ?? {}, "RS256", { extractable: true })
    if (key instanceof Uint8Array) throw new Error("not a public key")
    const [, payload = ""] = (await idp.notify()).split(".")
    const jws = await new CompactSign(Buffer.from(payload, "base64url"))
      .setProtectedHeader({ alg: "HS256", kid: jwk?.kid ?? "" })
      .sign(new TextEncoder().encode(await exportSPKI(key)))
    expect(await read(jws)).toBe("PROVIDER_TOKEN_INVALID alg")
  })
})

test("a provider that is down is no fault of the notification", async () => {
  idp.switches.down = true
  await expect(
    createIdpB({ clock, secrets, isLoopbackAllowed: true }).read(clients, await idp.notify()),
  ).rejects.toMatchObject({
    reason: "UPSTREAM_UNAVAILABLE",
  })
  idp.switches.down = false
})
