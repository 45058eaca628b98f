// Supabase Auth itself, for tests: a program that somebody built, on a PostgreSQL of its own, behind what stands in for
// the hosted gateway. All on loopback. Its mails come here instead of going out.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { promisify } from "node:util"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import pg from "pg"
import type { EmailProject, Mail, RecordedRequest } from "../support/email-project.ts"
import { startPostgres } from "../support/postgres-server.ts"

interface SupabaseAuthOptions {
  binary: string
  signing: "HS256" | "ES256"
  /** More of its settings, such as GOTRUE_DISABLE_SIGNUP. */
  settings?: Record<string, string>
}

const secretKey = "sb_secret_for-tests-only"
const jwtSecret = "a-project-secret-of-32-characters-or-more"

/** Undefined where no PostgreSQL can be had. */
export async function startSupabaseAuth(options: SupabaseAuthOptions): Promise<EmailProject | undefined> {
  const postgres = await startPostgres()
  if (postgres === undefined) return undefined
  const closing: (() => Promise<unknown>)[] = [() => postgres.stop()]
  const stop = async () => {
    while (closing.length > 0) await closing.pop()?.()
  }
  try {
    await preparePostgres(postgres.url)
    const mails: Mail[] = []
    const hook = await listen((request, response) => takeMail(mails, request, response))
    closing.push(() => close(hook.server))
    const requests: RecordedRequest[] = []
    const port = await freePort()
    const gateway = await listen((request, response) => forward(port, requests, request, response))
    closing.push(() => close(gateway.server))
    const projectUrl = `http://127.0.0.1:${gateway.port}`

    const at = { port, projectUrl, hookPort: hook.port, postgresUrl: postgres.url }
    const env = { PATH: process.env.PATH, ...(await settingsOf(options, at)) }
    await promisify(execFile)(options.binary, ["migrate"], { env, cwd: import.meta.dirname })
    const child = spawn(options.binary, ["serve"], { env, cwd: import.meta.dirname, stdio: ["ignore", "pipe", "pipe"] })
    closing.push(() => end(child))
    await untilHealthy(child, port)

    const service = await new SignJWT({ role: "service_role", aud: "authenticated" })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(jwtSecret))
    const ask = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
      fetch(`${projectUrl}/auth/v1${path}`, {
        method: body === undefined ? "GET" : "POST",
        redirect: "manual",
        headers: { apikey: secretKey, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const query = async (text: string, values: unknown[] = []) => {
      const client = new pg.Client(postgres.url)
      await client.connect()
      const result = await client.query(text, values)
      await client.end()
      return result
    }
    return {
      projectUrl,
      secretKey,
      tokenSecret: options.signing === "HS256" ? jwtSecret : null,
      mails: () => mails,
      requests,
      ask,
      stop,
      async addPerson({ email, password, isConfirmed }) {
        const made = await ask(
          "/admin/users",
          { email, password, email_confirm: isConfirmed },
          { authorization: `Bearer ${service}` },
        )
        if (made.status !== 200) throw new Error(`no person was made: ${made.status} ${await made.text()}`)
        const user: unknown = await made.json()
        if (typeof user !== "object" || user === null || !("id" in user)) throw new Error("the person has no id")
        const day = "update auth.users set email_confirmed_at = email_confirmed_at - interval '1 day' where id = $1"
        await query(day, [user.id])
        return { id: String(user.id) }
      },
      async countSessions() {
        return (await query("select count(*)::int as n from auth.sessions")).rows[0].n
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function settingsOf(
  { signing, settings }: SupabaseAuthOptions,
  at: { port: number; projectUrl: string; hookPort: number; postgresUrl: string },
): Promise<Record<string, string>> {
  return {
    GOTRUE_API_HOST: "127.0.0.1",
    PORT: String(at.port),
    API_EXTERNAL_URL: `${at.projectUrl}/auth/v1`,
    GOTRUE_SITE_URL: "https://notes.example",
    GOTRUE_URI_ALLOW_LIST: "https://notes.example/**",
    GOTRUE_DB_DRIVER: "postgres",
    DB_NAMESPACE: "auth",
    DATABASE_URL: at.postgresUrl
      .replace("postgres@", "supabase_auth_admin@")
      .concat("?sslmode=disable&search_path=auth"),
    GOTRUE_JWT_SECRET: jwtSecret,
    GOTRUE_JWT_AUD: "authenticated",
    GOTRUE_JWT_DEFAULT_GROUP_NAME: "authenticated",
    GOTRUE_JWT_ADMIN_ROLES: "service_role",
    GOTRUE_JWT_ISSUER: `${at.projectUrl}/auth/v1`,
    GOTRUE_MAILER_AUTOCONFIRM: "false",
    GOTRUE_EXTERNAL_EMAIL_ENABLED: "true",
    GOTRUE_EXTERNAL_PHONE_ENABLED: "false",
    GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: "true",
    GOTRUE_SMTP_MAX_FREQUENCY: "1ns",
    GOTRUE_RATE_LIMIT_EMAIL_SENT: "10000",
    GOTRUE_HOOK_SEND_EMAIL_ENABLED: "true",
    GOTRUE_HOOK_SEND_EMAIL_URI: `http://127.0.0.1:${at.hookPort}/mail`,
    GOTRUE_HOOK_SEND_EMAIL_SECRETS: `v1,whsec_${Buffer.alloc(32, 7).toString("base64")}`,
    GOTRUE_LOG_LEVEL: "error",
    ...(signing === "ES256" ? { GOTRUE_JWT_KEYS: JSON.stringify(await keysOf()) } : {}),
    ...settings,
  }
}

/** One key that signs, and the old secret that only verifies: for the administrator's token. */
async function keysOf() {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true })
  const k = Buffer.from(jwtSecret).toString("base64url")
  return [
    { ...(await exportJWK(privateKey)), kid: "project-key", alg: "ES256", use: "sig", key_ops: ["sign", "verify"] },
    { kty: "oct", k, kid: "legacy", alg: "HS256", use: "sig", key_ops: ["verify"] },
  ]
}

/** What the project's database is made with before its own migrations. */
async function preparePostgres(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query("create role supabase_auth_admin superuser login")
  await client.query("create schema auth authorization supabase_auth_admin")
  await client.query("alter role supabase_auth_admin set search_path = auth")
  await client.end()
}

/** The hosted gateway: wants the key, and takes /auth/v1 off. */
async function forward(
  port: number,
  requests: RecordedRequest[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request)
  const { method = "GET", url = "" } = request
  requests.push({ method, url, headers: request.headers, body })
  const json = { "content-type": "application/json" }
  if (request.headers.apikey !== secretKey && !url.includes("/.well-known/")) {
    response.writeHead(401, json).end('{"message":"Invalid API key","hint":"Double check your API key."}')
    return
  }
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !["host", "connection", "content-length"].includes(name)),
  )
  const answer = await fetch(`http://127.0.0.1:${port}${url.replace(/^\/auth\/v1/, "")}`, {
    method,
    headers: headers as Record<string, string>,
    redirect: "manual",
    ...(body === "" ? {} : { body }),
  })
  const type = answer.headers.get("content-type")
  const location = answer.headers.get("location")
  response.writeHead(answer.status, { ...(type ? { "content-type": type } : {}), ...(location ? { location } : {}) })
  response.end(Buffer.from(await answer.arrayBuffer()))
}

async function takeMail(mails: Mail[], request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { user, email_data: mail } = JSON.parse(await readBody(request))
  const { token_hash: tokenHash, redirect_to: link, email_action_type: type } = mail
  mails.push({ to: user.email, tokenHash, type, link })
  response.writeHead(200, { "content-type": "application/json" }).end("{}")
}

async function untilHealthy(child: ChildProcess, port: number): Promise<void> {
  let log = ""
  const keep = (chunk: unknown) => {
    log = (log + chunk).slice(-4_000)
  }
  child.stdout?.on("data", keep)
  child.stderr?.on("data", keep)
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) break
    const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
    if (health?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`Supabase Auth did not start:\n${log}`)
}

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>) {
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return { server, port: (server.address() as AddressInfo).port }
}

async function freePort(): Promise<number> {
  const { server, port } = await listen(async () => {})
  await close(server)
  return port
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  await ended
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}
