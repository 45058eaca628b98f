import { generateKeyPairSync } from "node:crypto"
import { Refused } from "@signet/kernel/errors"
import type { Vouched } from "@signet/kernel/identity/provider-ports"
import { clientSecretLabel } from "@signet/kernel/keys/sealed-columns"
import type { Platform, ProviderClient } from "@signet/kernel/records"
import { decodeJwt, decodeProtectedHeader } from "jose"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { adaSubject, type FakeIdpB, startFakeIdpB } from "../../test/support/idp-b.ts"
import { bundleId, clientKeyId, idpBIssuers, servicesId, teamId } from "../development/idp-b-clients.ts"
import { createTeamKey } from "../development/idp-b-keys.ts"
import { createSecrets } from "../keys/secrets.ts"
import { limits } from "./bounded-request.ts"
import { createIdpB } from "./idp-b.ts"

const clock = { nowMs: () => 1_800_000_000_000 }
const now = clock.nowMs() / 1000
const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
/** What the provider was sent last. */
let lastForm = new URLSearchParams()
const idpB = createIdpB({
  isLoopbackAllowed: true,
  clock,
  secrets,
  fetch(url, init) {
    if (init.body instanceof URLSearchParams) lastForm = init.body
    return fetch(url, init)
  },
})
const { timeoutMs } = limits
let idp: FakeIdpB

beforeAll(async () => {
  idp = await startFakeIdpB({ clock, secrets })
})
afterEach(() => {
  Object.assign(idp.switches, { down: false, delayMs: 0, issuer: "first" })
  limits.timeoutMs = timeoutMs
})
afterAll(() => idp.stop())

interface Attempt {
  platform?: Platform
  client?: Partial<ProviderClient>
  send?: { code?: string; codeVerifier?: string; redirectUri?: string }
  nonce?: string
}

async function trade({
  platform = "WEB",
  client: change = {},
  send = {},
  nonce = "n-1",
}: Attempt = {}): Promise<Vouched> {
  const client = idp.clientOf(platform, change)
  const redirectUri = idp.clientOf(platform).redirectUris[0] ?? ""
  const code = idp.issueCode({ platform })
  return idpB.verify(client, { is: "code", code, codeVerifier: "", redirectUri, ...send }, nonce)
}

const outcome = (doing: Promise<unknown>): Promise<string> =>
  doing.then(
    () => "ok",
    (error: unknown) => {
      if (!(error instanceof Refused)) throw error
      return [error.reason, ...Object.values(error.metadata)].join(" ")
    },
  )

const sealed = (client: ProviderClient, pem: string) =>
  secrets.seal(clientSecretLabel(client.id), new TextEncoder().encode(pem))

describe("a code", () => {
  test.each<[Platform]>([["WEB"], ["ANDROID"], ["IOS"]])(
    "of %s is exchanged for an identity token and a refresh token that is stored",
    async (platform) => {
      const vouched = await trade({ platform })
      expect(vouched).toMatchObject({ subject: adaSubject, providerTenant: teamId, singleUse: null, name: null })
      expect(idp.state.grants.findRefreshToken(vouched.providerRefreshToken ?? "")).toMatchObject({
        clientId: platform === "IOS" ? bundleId : servicesId,
      })
      expect(lastForm.has("redirect_uri")).toBe(platform !== "IOS")
    },
  )

  test("may come with a verifier, which is passed on", async () => {
    const codeVerifier = "v".repeat(43)
    expect(await outcome(trade({ send: { codeVerifier } }))).toBe("ok")
    expect(lastForm.get("code_verifier")).toBe(codeVerifier)
  })

  test("is exchanged once", async () => {
    const code = idp.issueCode()
    expect(await outcome(trade({ send: { code } }))).toBe("ok")
    expect(await outcome(trade({ send: { code } }))).toBe("PROVIDER_TOKEN_INVALID code")
  })

  test("of the other client is refused by the provider", async () => {
    expect(await outcome(trade({ send: { code: idp.issueCode({ platform: "IOS" }) } }))).toBe(
      "PROVIDER_TOKEN_INVALID code",
    )
  })

  test("of another sign-in is refused: the nonce is what ties it to this one", async () => {
    expect(await outcome(trade({ nonce: "n-2" }))).toBe("NONCE_MISMATCH nonce")
  })

  test.each<[string, Attempt, string]>([
    [
      "without a nonce, even where none is required",
      { nonce: "", client: { requireNonce: false } },
      "NONCE_MISMATCH nonce",
    ],
    [
      "with an address that is not the client's",
      { send: { redirectUri: "https://evil.example/" } },
      "PROVIDER_TOKEN_INVALID redirect_uri",
    ],
    [
      "without an address, of a client that has some",
      { send: { redirectUri: "" } },
      "PROVIDER_TOKEN_INVALID redirect_uri",
    ],
    [
      "with an address, of a client that has none",
      { platform: "IOS", send: { redirectUri: "https://notes.example/" } },
      "PROVIDER_TOKEN_INVALID redirect_uri",
    ],
    ["with half a verifier", { send: { codeVerifier: "v" } }, "PROVIDER_TOKEN_INVALID code_verifier"],
    ["when it is empty", { send: { code: "" } }, "PROVIDER_TOKEN_INVALID code"],
    ["to a client that takes no codes", { client: { tokenEndpoint: null } }, "PROVIDER_NOT_CONFIGURED"],
    ["to a client without a team", { client: { providerTenant: null } }, "PROVIDER_NOT_CONFIGURED"],
    ["to a client without a key id", { client: { clientKeyId: null } }, "PROVIDER_NOT_CONFIGURED"],
    ["to a client without a key", { client: { clientSecretSealed: null } }, "PROVIDER_NOT_CONFIGURED"],
  ])("is not sent to the provider %s", async (_, attempt, expected) => {
    const before = idp.asked["/auth/token"]
    expect(await outcome(trade(attempt))).toBe(expected)
    expect(idp.asked["/auth/token"]).toBe(before)
  })
})

describe("the client secret", () => {
  test("is a token of the team, for the client, made for this request and for five minutes", async () => {
    await trade({ platform: "IOS" })
    expect(lastForm.get("client_id")).toBe(bundleId)
    const secret = lastForm.get("client_secret") ?? ""
    expect(decodeProtectedHeader(secret)).toEqual({ alg: "ES256", kid: clientKeyId })
    const claims = { iss: teamId, sub: bundleId, aud: idpBIssuers[0], iat: now, exp: now + 300 }
    expect(decodeJwt(secret)).toEqual(claims)
  })

  test.each<[string, Partial<ProviderClient>]>([
    ["another team", { providerTenant: "OTHERTEAM1" }],
    ["another key id", { clientKeyId: "OTHERKEY01" }],
    ["another client", { clientId: "com.example.other" }],
    ["another provider", { canonicalIssuer: "https://idp-a.invalid" }],
  ])("of %s is refused by the provider, and the caller is not to blame", async (_, client) => {
    expect(await outcome(trade({ client }))).toBe("PROVIDER_NOT_CONFIGURED")
  })

  test("of another key is refused by the provider", async () => {
    const client = idp.clientOf("WEB")
    const clientSecretSealed = sealed(client, createTeamKey().privatePem)
    expect(await outcome(trade({ client: { clientSecretSealed } }))).toBe("PROVIDER_NOT_CONFIGURED")
  })

  test("cannot be the token that was seen on the way, once it is old", async () => {
    await trade()
    const form = new URLSearchParams({ ...Object.fromEntries(lastForm), code: idp.issueCode() })
    const { tokenEndpoint } = idp.clientOf("WEB")
    const ask = async () => (await fetch(tokenEndpoint ?? "", { method: "POST", body: form })).status
    expect(await ask()).toBe(200)
    const { nowMs } = clock
    clock.nowMs = () => nowMs() + 301_000
    form.set("code", idp.issueCode())
    expect(await ask()).toBe(400)
    clock.nowMs = nowMs
  })

  test.each<[string, string]>([
    ["is no key", "s3cret"],
    ["is empty", ""],
    [
      "is an RSA key",
      generateKeyPairSync("rsa", { modulusLength: 2048 })
        .privateKey.export({ type: "pkcs8", format: "pem" })
        .toString(),
    ],
    [
      "is of another curve",
      generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    ],
    ["is a public key", createTeamKey().publicPem],
  ])("cannot be made where what is sealed %s, and no error quotes it", async (_, pem) => {
    const client = idp.clientOf("WEB")
    const failed = await trade({ client: { clientSecretSealed: sealed(client, pem) } }).catch((error: unknown) => error)
    expect(failed).toMatchObject({ reason: "PROVIDER_NOT_CONFIGURED" })
    if (failed instanceof Refused) expect(`${failed.message} ${failed.cause}`).not.toContain(pem.slice(0, 40) || "\0")
  })
})

describe("a refresh token of the provider", () => {
  const client = () => idp.clientOf("WEB")

  test("is ended, with the consent that it came of, and again is no error", async () => {
    const { providerRefreshToken } = await trade()
    const token = providerRefreshToken ?? ""
    await idpB.revoke(client(), token)
    expect(lastForm.get("token")).toBe(token)
    expect(lastForm.get("token_type_hint")).toBe("refresh_token")
    expect(idp.state.grants.findRefreshToken(token)).toBeUndefined()
    await idpB.revoke(client(), token)
  })

  test("that the provider did not issue is no error", async () => {
    await idpB.revoke(client(), "made-up")
  })

  test("of another client is left alone", async () => {
    const { providerRefreshToken } = await trade({ platform: "IOS" })
    await idpB.revoke(client(), providerRefreshToken ?? "")
    expect(idp.state.grants.findRefreshToken(providerRefreshToken ?? "")).toBeDefined()
  })

  test.each<[string, Partial<ProviderClient>, string]>([
    ["has no such endpoint", { revocationEndpoint: null }, "PROVIDER_NOT_CONFIGURED"],
    ["is of another team", { providerTenant: "OTHERTEAM1" }, "PROVIDER_NOT_CONFIGURED"],
    ["names an address in the clear", { revocationEndpoint: "http://idp-b.example/revoke" }, "UPSTREAM_UNAVAILABLE"],
  ])("cannot be ended by a client that %s", async (_, change, expected) => {
    expect(await outcome(idpB.revoke({ ...client(), ...change }, "token"))).toBe(expected)
  })

  test.each(["providerTenant", "clientKeyId"] as const)("is not sent by a client without %s", async (name) => {
    const asked = idp.asked["/auth/revoke"]
    expect(await outcome(idpB.revoke({ ...client(), [name]: null }, "token"))).toBe("PROVIDER_NOT_CONFIGURED")
    expect(idp.asked["/auth/revoke"]).toBe(asked)
  })

  test("that the provider rejects as malformed is not the caller's error", async () => {
    expect(await outcome(idpB.revoke(client(), ""))).toBe("UPSTREAM_UNAVAILABLE")
  })
})

describe("a provider that", () => {
  test("is down is unavailable", async () => {
    idp.switches.down = true
    expect(await outcome(trade())).toBe("UPSTREAM_UNAVAILABLE")
    expect(await outcome(idpB.revoke(idp.clientOf("WEB"), "token"))).toBe("UPSTREAM_UNAVAILABLE")
  })

  test("is slow is waited for, and not for ever", async () => {
    idp.switches.delayMs = 20
    expect(await outcome(trade())).toBe("ok")
    idp.switches.delayMs = 2_000
    limits.timeoutMs = 50
    expect(await outcome(trade())).toBe("UPSTREAM_UNAVAILABLE")
    expect(await outcome(idpB.revoke(idp.clientOf("WEB"), "token"))).toBe("UPSTREAM_UNAVAILABLE")
  })

  test.each<[string, () => Response]>([
    ["redirects", () => new Response(null, { status: 302, headers: { location: "https://evil.example" } })],
    ["answers in HTML", () => new Response("<p>", { status: 400, headers: { "content-type": "text/html" } })],
    ["answers without end", () => Response.json({ error: "x".repeat(70_000) }, { status: 400 })],
    ["fails", () => Response.json({}, { status: 500 })],
    [
      "does not exist",
      () => {
        throw new TypeError("fetch failed")
      },
    ],
  ])("%s has revoked nothing", async (_, answer) => {
    const broken = createIdpB({ clock, secrets, isLoopbackAllowed: true, fetch: async () => answer() })
    expect(await outcome(broken.revoke(idp.clientOf("WEB"), "token"))).toBe("UPSTREAM_UNAVAILABLE")
  })

  test.each<[unknown, string | null]>([
    ["r1.0.x", "r1.0.x"],
    [undefined, null],
    ["", null],
    [7, null],
    ["two words", null],
    ["r".repeat(2_049), null],
  ])("gives the refresh token %.20j gives %.20j", async (refresh_token, expected) => {
    const id_token = await idp.mint()
    const fetchStub = async (url: string, init: RequestInit) =>
      url.endsWith("/auth/token") ? Response.json({ id_token, refresh_token }) : fetch(url, init)
    const credential = {
      is: "code",
      code: "c",
      codeVerifier: "",
      redirectUri: idp.clientOf("WEB").redirectUris[0] ?? "",
    } as const
    const vouched = await createIdpB({ clock, secrets, isLoopbackAllowed: true, fetch: fetchStub }).verify(
      idp.clientOf("WEB"),
      credential,
      "n-1",
    )
    expect(vouched.providerRefreshToken).toBe(expected)
  })
})
