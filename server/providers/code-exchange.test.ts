import { Refused } from "@signet/kernel/errors"
import { clientSecretLabel, type SealedLabel } from "@signet/kernel/keys/sealed-columns"
import type { ProviderClient } from "@signet/kernel/records"
import { providerClient } from "@signet/kernel/testing/records"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { type Behaviour, type FakeIdp, type MintOptions, startFakeIdp } from "../../test/support/idp.ts"
import { createSecrets } from "../keys/secrets.ts"
import { readAnswer } from "./code-exchange.ts"
import { createIdpA } from "./idp-a.ts"

const clock = { nowMs: () => 1_800_000_000_000 }
const now = clock.nowMs() / 1000
const secrets = createSecrets({
  peppers: [{ version: 1, key: new Uint8Array(32).fill(1) }],
  sealingKey: new Uint8Array(32).fill(2),
})
const codeVerifier = "v".repeat(43)
const redirectUri = "https://notes.example/callback"
let idp: FakeIdp

function clientOf(of: FakeIdp, change: Partial<ProviderClient> = {}): ProviderClient {
  const { issuer, jwksUri, tokenEndpoint } = of
  return { ...providerClient, issuers: [issuer], canonicalIssuer: issuer, jwksUri, tokenEndpoint, ...change }
}

beforeAll(async () => {
  idp = await startFakeIdp(clock)
})
afterEach(() => {
  idp.clientSecret = undefined
})
afterAll(() => idp.stop())

interface Attempt {
  token?: MintOptions
  send?: { code?: string; codeVerifier?: string; redirectUri?: string }
  client?: Partial<ProviderClient>
  nonce?: string
}

async function signIn({ token = {}, send = {}, client = {}, nonce = "n-1" }: Attempt = {}): Promise<string> {
  const code = idp.issueCode({ codeVerifier, redirectUri, token })
  const credential = { is: "code", code, codeVerifier, redirectUri, ...send } as const
  return outcome(
    createIdpA({ clock, secrets, isLoopbackAllowed: true }).verify(clientOf(idp, client), credential, nonce),
  )
}

async function outcome(verifying: Promise<{ subject: string; singleUse: unknown }>): Promise<string> {
  try {
    const { subject, singleUse } = await verifying
    return `${subject} ${singleUse}`
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return [error.reason, ...Object.values(error.metadata)].join(" ")
  }
}

describe("a code", () => {
  test("is exchanged for an ID token, whose single use the provider ensures", async () => {
    expect(await signIn()).toBe("ada null")
  })

  test("is exchanged with the client's secret, which is stored encrypted", async () => {
    idp.clientSecret = "s3cret"
    const sealed = (label: SealedLabel) => secrets.seal(label, new TextEncoder().encode("s3cret"))
    expect(await signIn({ client: { clientSecretSealed: sealed(clientSecretLabel(providerClient.id)) } })).toBe(
      "ada null",
    )
    expect(await signIn()).toBe("PROVIDER_NOT_CONFIGURED")
    await expect(signIn({ client: { clientSecretSealed: sealed("another client" as SealedLabel) } })).rejects.toThrow(
      "does not open",
    )
  })

  test("is exchanged once", async () => {
    const code = idp.issueCode({ codeVerifier, redirectUri })
    expect(await signIn({ send: { code } })).toBe("ada null")
    expect(await signIn({ send: { code } })).toBe("PROVIDER_TOKEN_INVALID code")
  })

  test.each<[string, Attempt, string]>([
    ["nobody issued", { send: { code: "made-up" } }, "PROVIDER_TOKEN_INVALID code"],
    ["of another verifier", { send: { codeVerifier: "w".repeat(43) } }, "PROVIDER_TOKEN_INVALID code"],
    [
      "of another address of the client",
      { send: { redirectUri: "https://b.example" }, client: { redirectUris: [redirectUri, "https://b.example"] } },
      "PROVIDER_TOKEN_INVALID code",
    ],
    ["whose ID token is for another client", { token: { claims: { aud: "other" } } }, "PROVIDER_TOKEN_INVALID aud"],
    ["whose ID token is of another sign-in", { nonce: "n-2" }, "NONCE_MISMATCH nonce"],
    ["whose ID token is old", { token: { claims: { iat: now - 601 } } }, "PROVIDER_TOKEN_INVALID iat"],
    ["whose ID token is of an unknown key", { token: { header: { kid: "x" } } }, "PROVIDER_TOKEN_INVALID kid"],
  ])("is refused %s", async (_, attempt, expected) => {
    expect(await signIn(attempt)).toBe(expected)
  })

  test.each<[string, Attempt, string]>([
    [
      "an address that is not the client's",
      { send: { redirectUri: `${redirectUri}/` } },
      "PROVIDER_TOKEN_INVALID redirect_uri",
    ],
    [
      "a verifier that is too short",
      { send: { codeVerifier: "v".repeat(42) } },
      "PROVIDER_TOKEN_INVALID code_verifier",
    ],
    [
      "a verifier with other characters",
      { send: { codeVerifier: "v v".repeat(20) } },
      "PROVIDER_TOKEN_INVALID code_verifier",
    ],
    ["no code", { send: { code: "" } }, "PROVIDER_TOKEN_INVALID code"],
    ["a code of 2,049 characters", { send: { code: "c".repeat(2_049) } }, "PROVIDER_TOKEN_INVALID code"],
    ["a client that takes no codes", { client: { tokenEndpoint: null } }, "PROVIDER_NOT_CONFIGURED"],
  ])("is not sent to the provider with %s", async (_, attempt, expected) => {
    const before = idp.asked.token
    expect(await signIn(attempt)).toBe(expected)
    expect(idp.asked.token).toBe(before)
  })
})

test.concurrent.each<Behaviour>([
  ...effort([], ["slow"] as const, ["slow"] as const),
  "redirect",
  "huge",
  "html",
  "garbage",
  "error",
  "hangUp",
])("a token endpoint with an invalid answer is unavailable: %s", async (behaviour) => {
  const own = await startFakeIdp(clock)
  own.behaviour.token = behaviour
  const code = own.issueCode({ codeVerifier, redirectUri })
  const verifying = createIdpA({ clock, secrets, isLoopbackAllowed: true }).verify(
    clientOf(own),
    { is: "code", code, codeVerifier, redirectUri },
    "n-1",
  )
  expect(await outcome(verifying)).toBe("UPSTREAM_UNAVAILABLE")
  expect(own.asked).toEqual({ jwks: 0, token: 1, elsewhere: 0 })
  await own.stop()
})

test.each<[number, unknown, string]>([
  [200, { id_token: "a.b.c" }, "a.b.c"],
  [200, {}, "UPSTREAM_UNAVAILABLE"],
  [200, { id_token: 7 }, "UPSTREAM_UNAVAILABLE"],
  [200, null, "UPSTREAM_UNAVAILABLE"],
  [400, { error: "invalid_grant" }, "PROVIDER_TOKEN_INVALID"],
  [400, { error: "invalid_request" }, "PROVIDER_TOKEN_INVALID"],
  [400, { error: "invalid_client" }, "PROVIDER_NOT_CONFIGURED"],
  [401, { error: "invalid_client" }, "PROVIDER_NOT_CONFIGURED"],
  [401, {}, "PROVIDER_NOT_CONFIGURED"],
  [400, { error: "unauthorized_client" }, "PROVIDER_NOT_CONFIGURED"],
  [400, { error: "something_new" }, "UPSTREAM_UNAVAILABLE"],
  [403, { error: "invalid_grant" }, "UPSTREAM_UNAVAILABLE"],
  [429, {}, "UPSTREAM_UNAVAILABLE"],
  [500, { error: "invalid_grant", id_token: "a.b.c" }, "UPSTREAM_UNAVAILABLE"],
])("an answer of %d %j means %s", (status, body, expected) => {
  const read = () => {
    try {
      return readAnswer({ status, body }).idToken
    } catch (error) {
      return error instanceof Refused ? error.reason : "a fault"
    }
  }
  expect(read()).toBe(expected)
})
