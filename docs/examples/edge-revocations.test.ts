import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { build } from "esbuild"
import { expect, onTestFinished, test } from "vitest"
import { bearer, clientsOver, protocols } from "../../test/support/clients.ts"
import { addReader } from "../../test/support/followed.ts"
import { startTestServer } from "../../test/support/server.ts"

const script = join(import.meta.dirname, "edge-revocations/worker.ts")

test("the worker fits on a page", () => {
  expect(readFileSync(script, "utf8").trimEnd().split("\n").length).toBeLessThan(80)
})

// A program for one platform: where there is none, npm has left it out.
const modules = join(import.meta.dirname, "../../node_modules/@cloudflare")
const hasWorkerd = existsSync(modules) && readdirSync(modules).some((name) => name.startsWith("workerd-"))

test.skipIf(!hasWorkerd)("in workerd a logout counts within moments, by the feed of the auth service", async () => {
  const server = await startTestServer({ store: "pglite" })
  onTestFinished(() => server.close())
  const { account, secret } = await addReader(server)
  const { Miniflare } = await import("miniflare")
  const bundled = { bundle: true, write: false, format: "esm", platform: "neutral", target: "es2024" } as const
  const { outputFiles } = await build({ entryPoints: [script], ...bundled })
  const worker = new Miniflare({
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-07-01",
    kvNamespaces: ["KEYS"],
    bindings: {
      ISSUER: server.deps.issuer,
      AUTH_URL: server.url,
      CLIENT_ID: account.clientId,
      CLIENT_SECRET: secret,
    },
  })
  onTestFinished(() => worker.dispose())
  const { auth } = clientsOver((protocols.gRPC ?? expect.unreachable)(server.url))
  const login = { ...(await server.login("ada")), audiences: ["svc-notes", "auth"] }
  const { accessTokens } = await auth.externalLogin(login)
  const get = async () => {
    const headers = { authorization: `Bearer ${accessTokens["svc-notes"]}` }
    const answer = await worker.dispatchFetch("https://notes.example/notes", { headers })
    return { status: answer.status, body: await answer.json() }
  }
  expect(await get()).toEqual({ status: 200, body: ["by Ada"] })
  await auth.logout({}, bearer(accessTokens.auth ?? ""))
  let last = await get()
  while (last.status === 200) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    last = await get()
  }
  expect(last).toMatchObject({ status: 401, body: { reason: "SESSION_REVOKED" } })
})
