// Ory Hydra and Keycloak, started from a program that a variable names. Written, never run in this repository's checks:
// no package carries the programs.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "../../support/free-port.ts"
import { basic } from "../token/measured.ts"
import type { Peer, PeerOptions, Skipped } from "./peer.ts"
import { postForm, postJson } from "./post-form.ts"

const startMs = 120_000

/** SIGNET_BENCH_HYDRA: the path of the program `hydra`. */
export async function startHydra({ databaseUrl, callers }: PeerOptions): Promise<Peer | Skipped> {
  const program = process.env.SIGNET_BENCH_HYDRA
  const name = "hydra"
  if (!program) return { name, skipped: "SIGNET_BENCH_HYDRA names no program" }
  const [port, adminPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const env = {
    DSN: databaseUrl,
    URLS_SELF_ISSUER: url,
    SERVE_PUBLIC_PORT: String(port),
    SERVE_ADMIN_PORT: String(adminPort),
    SECRETS_SYSTEM: "0123456789abcdef0123456789abcdef",
    STRATEGIES_ACCESS_TOKEN: "jwt",
    LOG_LEVEL: "error",
  }
  const migrated = spawn(program, ["migrate", "sql", "-e", "--yes"], {
    env: { ...process.env, ...env },
    stdio: "ignore",
  })
  const [code] = await once(migrated, "exit")
  if (code !== 0) throw new Error(`hydra migrate ended with ${code}`)
  const child = spawn(program, ["serve", "all", "--dev"], { env: { ...process.env, ...env }, stdio: "ignore" })
  await untilAnswers(child, `http://127.0.0.1:${adminPort}/health/ready`)
  for (let i = 0; i < callers; i++) {
    await postJson(`http://127.0.0.1:${adminPort}/admin/clients`, {
      client_id: `client-${i}`,
      client_secret: secretOf(i),
      grant_types: ["client_credentials"],
      scope: "notes.read",
    })
  }
  const token = (i: number) => postForm(`${url}/oauth2/token`, grant, basic(`client-${i}`, secretOf(i)))
  const introspect = `http://127.0.0.1:${adminPort}/admin/oauth2/introspect`
  return peerOf(name, child, callers, { token, introspect: (_, text) => postForm(introspect, { token: text }, {}) })
}

/** SIGNET_BENCH_KEYCLOAK: the folder of the distribution, which contains bin/kc.sh. */
export async function startKeycloak({ databaseUrl, callers }: PeerOptions): Promise<Peer | Skipped> {
  const folder = process.env.SIGNET_BENCH_KEYCLOAK
  const name = "keycloak"
  if (!folder) return { name, skipped: "SIGNET_BENCH_KEYCLOAK names no distribution" }
  const port = await freePort()
  const { hostname, port: databasePort, pathname, username } = new URL(databaseUrl)
  const env = {
    KC_DB: "postgres",
    KC_DB_URL: `jdbc:postgresql://${hostname}:${databasePort}${pathname}`,
    KC_DB_USERNAME: username,
    KC_DB_PASSWORD: "postgres",
    KC_HTTP_ENABLED: "true",
    KC_HTTP_PORT: String(port),
    KC_HOSTNAME_STRICT: "false",
    KC_BOOTSTRAP_ADMIN_USERNAME: "admin",
    KC_BOOTSTRAP_ADMIN_PASSWORD: "admin",
  }
  // Without a shell around it: kc.sh replaces itself by Java.
  const child = spawn(`${folder}/bin/kc.sh`, ["start"], { env: { ...process.env, ...env }, stdio: "ignore" })
  const url = `http://127.0.0.1:${port}/realms/master`
  await untilAnswers(child, url)
  const login = { grant_type: "password", client_id: "admin-cli", username: "admin", password: "admin" }
  const { access_token } = await postForm(`${url}/protocol/openid-connect/token`, login, {})
  for (let i = 0; i < callers; i++) {
    await postJson(
      `http://127.0.0.1:${port}/admin/realms/master/clients`,
      { clientId: `client-${i}`, secret: secretOf(i), serviceAccountsEnabled: true, publicClient: false },
      { authorization: `Bearer ${access_token}` },
    )
  }
  const of = (i: number) => basic(`client-${i}`, secretOf(i))
  const token = (i: number) =>
    postForm(`${url}/protocol/openid-connect/token`, { grant_type: "client_credentials" }, of(i))
  const introspect = (i: number, text: string) =>
    postForm(`${url}/protocol/openid-connect/token/introspect`, { token: text }, of(i))
  return peerOf(name, child, callers, { token, introspect })
}

const grant = { grant_type: "client_credentials", scope: "notes.read" }
const secretOf = (i: number) => `secret-${i}-0123456789`

interface Calls {
  token(caller: number): Promise<Record<string, unknown>>
  introspect(caller: number, token: string): Promise<Record<string, unknown>>
}

async function peerOf(name: string, child: ChildProcess, callers: number, calls: Calls): Promise<Peer> {
  const tokens: string[] = []
  for (let i = 0; i < callers; i++) tokens.push(String((await calls.token(i)).access_token))
  const introspect = async (caller: number) => {
    const { active } = await calls.introspect(caller, tokens[caller] ?? "")
    if (active !== true) throw new Error(`${name} does not know its token`)
  }
  return {
    name,
    pid: child.pid ?? 0,
    works: new Map<string, (caller: number) => Promise<unknown>>([
      ["client_credentials", calls.token],
      ["introspection", introspect],
    ]),
    async stop() {
      const ended = once(child, "exit")
      child.kill("SIGTERM")
      await ended
    },
  }
}

async function untilAnswers(child: ChildProcess, url: string): Promise<void> {
  const untilMs = performance.now() + startMs
  while (child.exitCode === null && performance.now() < untilMs) {
    const isReady = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await sleep(200)
  }
  child.kill("SIGKILL")
  throw new Error(`${url} does not answer`)
}
