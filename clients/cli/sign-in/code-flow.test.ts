// A browser is untrusted: its answers are accepted only if they belong to this sign-in.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Signet } from "@signet/client-node"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { CommandError } from "../failure.ts"
import { type FakeCli, fakeCli } from "../testing/fake-cli.ts"
import { signInWithCode } from "./code-flow.ts"
import { openLoopback } from "./loopback.ts"

let provider: Server
let issuer: string
let redirectUri: string
beforeAll(async () => {
  provider = createServer((_, response) => {
    response.setHeader("content-type", "application/json")
    response.end(
      JSON.stringify({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        authorization_response_iss_parameter_supported: true,
      }),
    )
  })
  issuer = await listening(provider)
})
afterAll(() => void provider.close())

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeEach(async () => {
  const probe = createServer()
  redirectUri = `${await listening(probe)}/callback`
  await new Promise((closed) => probe.close(closed))
})

let made = 0
const signet: Pick<Signet, "newNonce" | "newPkce" | "startSignIn"> = {
  newNonce: () => `random-${++made}`,
  startSignIn: async () => ({ nonce: `sgn_${++made}`, transaction: `transaction-${made}` }),
  newPkce: async () => ({ codeVerifier: "v".repeat(43), codeChallenge: "c".repeat(43) }),
}

/** Signs in with a browser that follows `answer`. */
async function signIn(answer: (asked: URL) => string | Promise<unknown>) {
  const fake: FakeCli = fakeCli({
    browse: (url) => {
      const to = answer(new URL(url))
      if (typeof to === "string") void fetch(to).catch(() => undefined)
    },
  })
  const browser = { issuer, clientId: "notes", redirectUris: [redirectUri] }
  return signInWithCode(fake.cli, signet, { browser, how: "browser" })
}
const answerOf = (asked: URL, change: Record<string, string | undefined> = {}): string => {
  const url = new URL(asked.searchParams.get("redirect_uri") ?? "")
  const said = { code: "code-1", state: asked.searchParams.get("state") ?? "", iss: issuer, ...change }
  for (const [name, value] of Object.entries(said)) if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}

test("the request has PKCE, state and nonce, and the code is sent with its verifier", async () => {
  let asked = new URL("http://none")
  const { nonce, transaction, credential } = await signIn((url) => {
    asked = url
    return answerOf(url)
  })
  expect(Object.fromEntries(asked.searchParams)).toMatchObject({
    response_type: "code",
    client_id: "notes",
    redirect_uri: redirectUri,
    code_challenge: "c".repeat(43),
    code_challenge_method: "S256",
    nonce,
  })
  expect(asked.searchParams.get("state")).not.toBe(nonce)
  // The transaction stays on this machine.
  expect(transaction).toMatch(/^transaction-/)
  expect(asked.href).not.toContain(transaction)
  expect(credential).toEqual({ code: "code-1", codeVerifier: "v".repeat(43), redirectUri })
})

test.each<[string, Record<string, string | undefined>, string]>([
  ["of another provider (RFC 9207)", { iss: "https://evil.example" }, "SIGN_IN_INVALID"],
  ["without its issuer", { iss: undefined }, "SIGN_IN_INVALID"],
  ["with an error", { code: undefined, error: "access_denied" }, "PROVIDER_REFUSED"],
])("an answer %s signs nobody in", async (_, change, reason) => {
  await expect(signIn((asked) => answerOf(asked, change))).rejects.toMatchObject({ name: "CommandError", reason })
})

test.each<[string, Record<string, string | undefined>]>([
  ["of another sign-in", { state: "random-0" }],
  ["without a state", { state: undefined }],
  ["with an error for another sign-in", { state: "random-0", code: undefined, error: "access_denied" }],
])("an answer %s, which any page could send, is ignored", async (_, change) => {
  let refused = 0
  const { credential } = await signIn((asked) =>
    fetch(answerOf(asked, change)).then(({ status }) => {
      refused = status
      return fetch(answerOf(asked))
    }),
  )
  expect([refused, credential]).toMatchObject([404, { code: "code-1" }])
})

test("on a machine without a browser, the final address is read from standard input", async () => {
  const browser = { issuer, clientId: "notes", redirectUris: [redirectUri] }
  const paste = (change = {}) => {
    const input = (said: string) => answerOf(new URL(/http:\S+\/authorize\S+/.exec(said)?.[0] ?? ""), change)
    return signInWithCode(fakeCli({ input }).cli, signet, { browser, how: "paste" })
  }
  expect((await paste()).credential).toEqual({ code: "code-1", codeVerifier: "v".repeat(43), redirectUri })
  await expect(paste({ state: "random-0" })).rejects.toMatchObject({ reason: "SIGN_IN_INVALID" })
  const nothing = signInWithCode(fakeCli({ input: "code-1" }).cli, signet, { browser, how: "paste" })
  await expect(nothing).rejects.toMatchObject({ exitCode: 2 })
})

test("a request for another path or host does not end the wait", async () => {
  await using loopback = await openLoopback({ redirectUris: [redirectUri], state: "s", waitMs: 60_000 })
  const get = async (path: string, init?: RequestInit) => (await fetch(new URL(path, redirectUri), init)).status
  expect(await get("/")).toBe(404)
  expect(await get("/favicon.ico")).toBe(404)
  expect(await get("/callback")).toBe(404)
  expect(await get("/callback?state=s&code=1", { method: "POST" })).toBe(404)
  const rebound = await new Promise<number | undefined>((resolve) => {
    const { port } = new URL(redirectUri)
    import("node:http").then(({ request }) =>
      request(
        { port, host: "127.0.0.1", path: "/callback?state=s&code=1", headers: { host: "evil.example" } },
        (response) => resolve(response.statusCode),
      ).end(),
    )
  })
  expect(rebound).toBe(404)
  expect(await get("/callback?state=s&code=1")).toBe(200)
  expect((await loopback.answer).searchParams.get("code")).toBe("1")
})

test("the wait is bounded, and nothing listens afterwards", async () => {
  {
    await using loopback = await openLoopback({ redirectUris: [redirectUri], state: "s", waitMs: 1 })
    await expect(loopback.answer).rejects.toMatchObject({ reason: "SIGN_IN_TIMED_OUT", exitCode: 10 })
  }
  await expect(fetch(redirectUri)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } })
})

test("the next address is used if a port is in use, and an error if all are", async () => {
  await using first = await openLoopback({ redirectUris: [redirectUri], state: "s", waitMs: 60_000 })
  await expect(openLoopback({ redirectUris: [redirectUri], state: "s", waitMs: 60_000 })).rejects.toMatchObject({
    reason: "PORT_TAKEN",
  })
  expect(first.redirectUri).toBe(redirectUri)
})

test.each(["https://127.0.0.1:1/cb", "http://evil.example:1/cb", "http://127.0.0.1/cb", "com.example:/cb"])(
  "%s is no loopback address with a port",
  async (uri) => {
    await expect(openLoopback({ redirectUris: [uri], state: "s", waitMs: 1 })).rejects.toBeInstanceOf(CommandError)
  },
)
