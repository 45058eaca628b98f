// Attacks by an app, or by somebody who reads its traffic, with an ID token of an honest provider.
import { create, toJsonString } from "@bufbuild/protobuf"
import { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("an ID token", (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
  })
  afterAll(() => server?.close())

  interface Answer {
    reason?: string
    identity?: { id: string; primaryEmail?: string }
    membership?: { profile?: { name?: string } }
  }

  async function present(idToken: string): Promise<Answer> {
    const request = create(ExternalLoginRequestSchema, {
      ...(await server.login("nobody")),
      credential: { case: "idToken", value: idToken },
    })
    const response = await fetch(`${server.url}/auth/login/idp-a`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: toJsonString(ExternalLoginRequestSchema, request),
    })
    return (await response.json()) as Answer
  }
  const signIn = async (sub: unknown, claims: Record<string, unknown> = {}) =>
    present(await server.idp.mint({ claims: { sub, jti: String(Math.random()), ...claims } }))

  test("is accepted once, in any encoding of its signature", async () => {
    const token = await server.idp.mint({ claims: { sub: "spelled", jti: "spelled" } })
    expect(await present(token)).toHaveProperty("identity")
    const spellings = otherSpellings(token)
    expect(spellings.length).toBe(15)
    for (const twin of [token, ...spellings]) {
      expect((await present(twin)).reason).toBe("PROVIDER_TOKEN_REPLAYED")
    }
  })

  test("is accepted once with either of its two valid ECDSA signatures", async () => {
    const token = await server.idp.mint({ claims: { sub: "curve", jti: "curve" }, alg: "ES256" })
    expect(await present(token)).toHaveProperty("identity")
    expect((await present(negated(token))).reason).toBe("PROVIDER_TOKEN_REPLAYED")
  })

  test.each([
    ["half a surrogate pair", "vic\ud800tim"],
    ["the other half", "vic\udffftim"],
    ["U+0000", "vic\0tim"],
    ["a number", 7],
    ["a list", ["victim"]],
    ["an object with a toString", { toString: "victim" }],
    ["256 characters", "v".repeat(256)],
    ["10,000 characters", "v".repeat(10_000)],
  ])("whose subject has %s signs nobody in", async (_, sub) => {
    expect((await signIn(sub)).reason).toBe("PROVIDER_TOKEN_INVALID")
  })

  test("with a subject that looks like another one signs in a different user", async () => {
    const subjects = [
      "victim",
      "Victim",
      "victim ",
      " victim",
      "v\u0456ctim",
      "vi\u0301ctim",
      "v\u00edctim",
      "\u200bvictim",
      "victim\ufffd",
      "victim%",
      "victim_",
      "victim' or '1'='1",
    ]
    const people = await Promise.all(subjects.map((sub) => signIn(sub)))
    const ids = people.map((answer) => answer.identity?.id)
    expect(new Set(ids).size).toBe(subjects.length)
    expect(ids).not.toContain(undefined)
  })

  test("with another user's email, in any spelling and verified or not, does not sign in that user", async () => {
    const claims = { email: "owner@example.com", email_verified: true }
    const owner = await signIn("email owner", claims)
    for (const email of ["owner@example.com", "owner@EXAMPLE.com", "\uff4fwner@example.com"]) {
      const other = await signIn(`thief of ${email}`, { ...claims, email })
      expect(other.identity?.id).not.toBe(owner.identity?.id)
    }
  })

  test.each([
    ["U+0000", "\0"],
    ["half a surrogate pair", "\ud800"],
  ])("whose name or email has %s signs in without it", async (_, odd) => {
    const answer = await signIn(`odd ${odd.charCodeAt(0)}`, {
      name: `A${odd}`,
      email: `a${odd}@b.c`,
      email_verified: true,
    })
    expect(answer.identity?.id).toMatch(/^idn_/)
    expect(answer.identity?.primaryEmail).toBeUndefined()
    expect(answer.membership?.profile?.name).toBeUndefined()
  })

  test.each([
    ["another issuer", { iss: "https://evil.example" }],
    ["the issuer with a slash", () => ({ iss: `${server.idp.issuer}/` })],
    ["the issuer in capitals", () => ({ iss: server.idp.issuer.toUpperCase() })],
    ["a list of issuers", () => ({ iss: [server.idp.issuer] })],
    ["another audience", { aud: "other" }],
    ["the app's audience and another", { aud: ["notes-web", "other"] }],
    ["no audience", { aud: [] }],
    ["an authorized party in a list", { azp: ["notes-web"] }],
    ["another authorized party", { azp: "other" }],
  ])("of %s signs nobody in", async (_, claims) => {
    const more = typeof claims === "function" ? claims() : claims
    expect((await signIn("confused", more)).reason).toBe("PROVIDER_TOKEN_INVALID")
  })
})

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** Returns the tokens with another last character that decodes to the same bytes: its last four bits are unused. */
function otherSpellings(token: string): string[] {
  const last = alphabet.indexOf(token.slice(-1))
  const twins = Array.from({ length: 16 }, (_, bits) => token.slice(0, -1) + alphabet.charAt(last - (last % 16) + bits))
  return twins.filter((twin) => twin !== token)
}

const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** Returns the token with (r, n - s) in place of (r, s), which is also a valid signature. */
function negated(token: string): string {
  const at = token.lastIndexOf(".") + 1
  const signature = Buffer.from(token.slice(at), "base64url")
  const s = BigInt(`0x${signature.subarray(32).toString("hex")}`)
  signature.write((order - s).toString(16).padStart(64, "0"), 32, "hex")
  return token.slice(0, at) + signature.toString("base64url")
}
