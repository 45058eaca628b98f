// A service at the edge, on the real runtime: with a healthy issuer, without one, under a flood of unknown keys,
// through a key rotation, and after a key theft.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import type { Request as WorkerRequest } from "miniflare"
import { expect, onTestFinished, test } from "vitest"
import { bearer, clientsOver, protocols } from "../support/clients.ts"
import { effort, isLong } from "../support/effort.ts"
import { addReader } from "../support/followed.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer } from "../support/server.ts"

const script = join(import.meta.dirname, "../../docs/examples/edge-revocations/worker.ts")
const keysPath = "/.well-known/jwks.json"
const flood = effort(40, 400, 2_000)

// workerd is a program per platform: npm leaves it out where there is none.
const modules = join(import.meta.dirname, "../../node_modules/@cloudflare")
const hasWorkerd = existsSync(modules) && readdirSync(modules).some((name) => name.startsWith("workerd-"))

async function setUp() {
  const server = await startTestServer({ store: storyStore })
  onTestFinished(() => server.close())
  const { account, secret } = await addReader(server)
  const { Miniflare, Response: WorkerResponse } = await import("miniflare")
  const bundled = { bundle: true, write: false, format: "esm", platform: "neutral", target: "es2024" } as const
  const { outputFiles } = await build({ entryPoints: [script], ...bundled })
  const asked = new Map<string, number>()
  const down = new Set<string>()
  const options = (isolate: number) => ({
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-07-01",
    kvNamespaces: ["KEYS"],
    bindings: {
      // Another value starts another isolate without memory.
      ISOLATE: isolate,
      ISSUER: server.deps.issuer,
      APP_ID: server.app.id,
      AUTH_URL: "https://auth.example",
      CLIENT_ID: account.clientId,
      CLIENT_SECRET: secret,
    },
    outboundService: async (request: WorkerRequest) => {
      const { pathname, search } = new URL(request.url)
      asked.set(pathname, (asked.get(pathname) ?? 0) + 1)
      if (down.has(pathname) || down.has("all")) return new WorkerResponse(null, { status: 503 })
      const { method } = request
      const body = method === "POST" ? { body: await request.text() } : {}
      const answer = await fetch(`${server.url}${pathname}${search}`, {
        method,
        headers: [...request.headers],
        ...body,
      })
      return new WorkerResponse(await answer.text(), { status: answer.status })
    },
  })
  const worker = new Miniflare(options(0))
  onTestFinished(() => worker.dispose())
  let isolates = 0
  const restart = () => worker.setOptions(options(++isolates))

  const { auth } = clientsOver((protocols.gRPC ?? expect.unreachable)(server.url))
  const signIn = async () => {
    const login = { ...(await server.login("ada")), audiences: ["svc-notes", "auth"] }
    const { accessTokens } = await auth.externalLogin(login)
    const logout = () => auth.logout({}, bearer(accessTokens.auth ?? ""))
    return { token: accessTokens["svc-notes"] ?? "", logout }
  }
  const token = async () => (await signIn()).token
  const get = async (token: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await worker.dispatchFetch("https://notes.example/notes", { headers })
    if (answer.status === 200) return "allowed"
    const problem: unknown = await answer.json()
    return typeof problem === "object" && problem !== null ? String(Reflect.get(problem, "reason")) : ""
  }
  const untilRefused = async (token: string): Promise<number> => {
    const beganAtMs = performance.now()
    while ((await get(token)) === "allowed") await new Promise((resolve) => setTimeout(resolve, 50))
    return performance.now() - beganAtMs
  }
  return { server, restart, asked, down, signIn, token, get, untilRefused }
}

const kidOf = (token: string): string =>
  String(JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()).kid)

/** The same token under an unknown key id. */
function withKid(token: string, kid: string): string {
  const [, payload, signature] = token.split(".")
  const header = Buffer.from(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid })).toString("base64url")
  return `${header}.${payload}.${signature}`
}

test.skipIf(!hasWorkerd || !isLong)(
  "in workerd the guard survives its issuer's failure, floods, rotations and key theft",
  async () => {
    const { server, restart, asked, down, signIn, token, get, untilRefused } = await setUp()
    const first = await token()
    expect(await get(first)).toBe("allowed")
    expect(asked.get(keysPath)).toBe(1)

    // A flood of unknown keys: the issuer is asked once, and tokens with known keys are served.
    const answers = await Promise.all(Array.from({ length: flood }, (_, i) => get(withKid(first, `no-${i}`))))
    expect(new Set(answers)).toEqual(new Set(["KEY_UNKNOWN"]))
    expect(asked.get(keysPath)).toBeLessThanOrEqual(2)
    expect(await get(first)).toBe("allowed")

    // The JWKS endpoint is down, and this isolate is new: the keys come from the key-value store.
    down.add(keysPath)
    await restart()
    const before = asked.get(keysPath)
    expect(await get(first)).toBe("allowed")
    expect(asked.get(keysPath)).toBe(before)

    // The issuer is down: the last revocation state is valid for ten seconds, and then every token is refused.
    down.add("all")
    await restart()
    server.advance(-60_000)
    const old = await token()
    server.advance(60_000)
    expect(await get(await token())).toBe("allowed")
    expect(await get(old)).toBe("REVOCATION_STATE_STALE")
    down.clear()

    // The next key is published before it signs.
    await server.keys.rotate("ACCESS", { isEarly: true })
    const second = await token()
    expect(kidOf(second)).not.toBe(kidOf(first))
    expect(await get(second)).toBe("allowed")

    // A logged-out user is refused within the feed's interval, and nobody else.
    const leaving = await signIn()
    expect(await get(leaving.token)).toBe("allowed")
    await leaving.logout()
    expect(await untilRefused(leaving.token)).toBeLessThan(20_000)
    expect(await get(leaving.token)).toBe("SESSION_REVOKED")
    expect(await get(second)).toBe("allowed")

    // A thief has the key: its tokens are refused, also those that were verified before.
    await server.keys.compromise(kidOf(second))
    expect(await untilRefused(second)).toBeLessThan(20_000)
    expect(await get(second)).toBe("KEY_UNKNOWN")
  },
)
