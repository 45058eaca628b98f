// Each event of a session, with the most verbose log: no secret and no personal data is written anywhere.
import { create, toJsonString } from "@bufbuild/protobuf"
import { ExternalLoginRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createLog } from "../../server/node/log.ts"
import { bearer, clientsOver, protocols, refusal } from "../support/clients.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const origin = "https://notes.example"
const email = "ada.lovelace@example.com"
const name = "Ada King, Countess of Lovelace"
const retryKey = "0123456789abcdefghijkl"
const userAgent = "agent-of-a-kind/7"

describe("logs and audit", () => {
  const lines: string[] = []
  const secrets = new Map<string, string>([
    [email, "email"],
    [name, "name"],
    [retryKey, "retry key"],
  ])
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ store: storyStore, log: createLog("trace", (line) => void lines.push(line)) })
    for (const [protocol, connect] of Object.entries(protocols)) await live(protocol, connect(server.url))
    await liveWithCookie()
    await meetFault()
  })
  afterAll(() => server?.close())

  /** Remembers the token and its parts: no part may be logged either. */
  function remember(what: string, token: string): string {
    expect(token.length).toBeGreaterThan(20)
    for (const part of token.split(".").filter((text) => text.length > 20 && !isHeader(text))) secrets.set(part, what)
    return token
  }
  const person = async (subject: string) => {
    const login = await server.login(subject, { email, email_verified: true, name })
    if (login.credential?.case === "idToken" && typeof login.credential.value === "string") {
      remember("ID token", login.credential.value)
    }
    return login
  }

  async function live(protocol: string, transport: ReturnType<(typeof protocols)[string]>): Promise<void> {
    const { auth, sessions } = clientsOver(transport)
    const login = await person(protocol)
    const first = await auth.externalLogin(login)
    remember("refresh token", first.refreshToken)
    remember("access token", first.accessToken)
    expect(await refusal(auth.externalLogin(login))).toMatch("PROVIDER_TOKEN_REPLAYED")
    await auth.me({}, bearer(first.accessToken))
    await sessions.listSessions({}, bearer(first.accessToken))
    const request = { refreshToken: first.refreshToken, retryKey }
    const second = await auth.refresh(request)
    remember("refresh token", second.refreshToken)
    remember("access token", second.accessToken)
    remember("access token", (await auth.refresh(request)).accessToken)
    expect(await refusal(auth.refresh({ refreshToken: first.refreshToken }))).toMatch("REFRESH_TOKEN_REUSED")
    expect(await refusal(auth.me({}, bearer(second.accessToken)))).toMatch("SESSION_REVOKED")
    expect(await refusal(auth.me({}, bearer(second.refreshToken)))).toMatch("REFRESH_TOKEN_NOT_BEARER")
    expect(await refusal(auth.me({}, bearer(`${first.accessToken.slice(0, -20)}${"A".repeat(20)}`)))).toMatch(
      "SIGNATURE_INVALID",
    )
  }

  const post = (path: string, headers: Record<string, string>, body: string) =>
    fetch(server.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": userAgent, ...headers },
      body,
    })

  async function liveWithCookie(): Promise<void> {
    const page = { origin, "x-signet-client": "web" }
    const login = create(ExternalLoginRequestSchema, { ...(await person("cookie")), cookieMode: true })
    const response = await post("/auth/login/idp-a", page, toJsonString(ExternalLoginRequestSchema, login))
    const cookie = response.headers.getSetCookie()[0]?.split(";")[0] ?? ""
    remember("cookie", cookie.split("=")[1] ?? "")
    const body = JSON.stringify({ appId: server.app.id })
    const stranger = { ...page, origin: "https://evil.example" }
    expect((await post("/auth/session/refresh", { ...stranger, cookie }, body)).status).toBe(403)
    const refreshed = await post("/auth/session/refresh", { ...page, cookie, "idempotency-key": retryKey }, body)
    expect(refreshed.status).toBe(200)
    remember("cookie", refreshed.headers.getSetCookie()[0]?.split(/[=;]/)[1] ?? "")
    // Secrets in wrong places: a query, a malformed body, a path.
    const [token = ""] = secrets.keys()
    expect((await fetch(`${server.url}/auth/session/me?access_token=${token}`)).status).toBe(401)
    expect((await post("/auth/session/refresh", {}, `{"refreshToken":"${token}"`)).status).toBe(400)
    expect((await fetch(`${server.url}/auth/${token}`)).status).toBe(404)
  }

  /** A database error quotes its input: here `invalid input syntax for type integer: "ada.lovelace@…"`. */
  async function meetFault(): Promise<void> {
    await sql`alter table provider_account add constraint nobody check (email::integer > 0) not valid`.execute(
      server.store.db,
    )
    const connect = protocols["Connect JSON over HTTP/1.1"]
    if (connect === undefined) throw new Error("no transport")
    const { auth } = clientsOver(connect(server.url))
    expect(await refusal(auth.externalLogin(await person("fault")))).toBe("Internal INTERNAL")
  }

  test("contain entries", () => {
    expect(secrets.size).toBeGreaterThan(40)
    const all = lines.join("")
    for (const word of ["22P02", "REFRESH_TOKEN_REUSED", "signet.auth.v1.AuthService/Refresh"])
      expect(all).toContain(word)
  })

  test("contain no token, key, cookie or personal data", () => {
    expect(found(lines.join(""))).toEqual([])
  })

  test("contain none in the audit either", async () => {
    const { rows } = await sql<{ row: string }>`select audit_event::text as row from audit_event`.execute(
      server.store.db,
    )
    expect(rows.length).toBeGreaterThan(40)
    expect(found(rows.map(({ row }) => row).join("\n"))).toEqual([])
  })

  test("belong to a database that contains no token either", async () => {
    const tables = ["session", "refresh_token", "id_token_use"]
    const texts = await Promise.all(
      tables.map(async (table) => {
        const { rows } = await sql<{
          row: string
        }>`select ${sql.table(table)}::text as row from ${sql.table(table)}`.execute(server.store.db)
        expect(rows.length).toBeGreaterThan(0)
        return rows.map(({ row }) => row).join("\n")
      }),
    )
    expect(found(texts.join("\n"))).toEqual([])
  })

  /** The secrets that the text contains, in each spelling that a log could use. */
  function found(text: string): string[] {
    const spellings = (secret: string) => [
      secret,
      encodeURIComponent(secret),
      ...(["base64", "base64url", "hex"] as const).map((encoding) => Buffer.from(secret).toString(encoding)),
    ]
    return [...secrets]
      .filter(([secret]) => spellings(secret).some((one) => text.includes(one)))
      .map(([, what]) => what)
  }
})

/** A token's header is the same for all tokens and no secret. */
const isHeader = (part: string): boolean => Buffer.from(part, "base64url").toString().startsWith('{"alg"')
