// A service in Python that verifies tokens locally, and follows and calls a real issuer.
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { guardFolder } from "../interop/python/reason-table.ts"
import { python, pythonMissing } from "../interop/python/stubs.ts"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols } from "../support/clients.ts"
import { effort } from "../support/effort.ts"
import { addReader } from "../support/followed.ts"
import type { Machine } from "../support/machines.ts"
import { addNotesAccount, editNote, snapshotScope } from "../support/notes-service.ts"
import { signIn } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

// It takes seconds, mostly of waiting.
const missing = effort(() => "the long form alone", pythonMissing, pythonMissing)()
const script = join(import.meta.dirname, "../interop/python/guarded.py")

describe.skipIf(missing !== undefined)(`a service in Python${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let server: TestServer
  let clients: Clients
  let world: AdministeredWorld
  let service: ChildProcess
  let url: string
  beforeAll(async () => {
    server = await startTestServer({ store: storyStore })
    clients = clientsOver((protocols["Connect JSON over HTTP/1.1"] ?? expect.unreachable)(server.url))
    world = await administeredWorld(server, clients)
    await clients.admin.createPermission({ appId: world.app.id, permission: { key: editNote } }, world.as("root"))
    const credentials = ({ account, secret }: Machine, scope: string) => ({
      client_id: account.clientId,
      client_secret: secret,
      scope,
    })
    service = spawn(python, [script, guardFolder], { stdio: ["pipe", "pipe", "inherit"] })
    const settings = {
      url: server.url,
      issuer: server.deps.issuer,
      authAudience: server.deps.authAudience,
      appId: world.app.id,
      reader: credentials(await addReader(server), "auth.revocations.read auth.introspect"),
      notes: credentials(await addNotesAccount(server, world.app), snapshotScope),
    }
    service.stdin?.write(`${JSON.stringify(settings)}\n`)
    for await (const line of createInterface({ input: service.stdout ?? process.stdin })) {
      url = `http://127.0.0.1:${line}`
      break
    }
  })
  afterAll(async () => {
    service?.stdin?.end()
    await server?.close()
  })

  const person = () =>
    signIn(server, clients, `python ${Math.random()}`, {
      app: world.app,
      scopes: ["notes.write"],
      audiences: ["auth", "svc-notes"],
    })
  /** The status, and the reason of a refusal. */
  async function ask(method: string, path: string, token: string): Promise<readonly [number, string?]> {
    const answer = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } })
    const body: { reason?: string } = JSON.parse(await answer.text())
    return body.reason === undefined ? [answer.status] : [answer.status, body.reason]
  }

  test("identifies its caller, and refuses the session within seconds of its logout", async () => {
    const { tokens } = await person()
    const bystander = await person()
    const [notes = "", auth = ""] = [tokens["svc-notes"], tokens.auth]
    expect(await ask("GET", "/whoami", notes)).toEqual([200])
    expect(await ask("GET", "/whoami", auth)).toEqual([401, "AUDIENCE_MISMATCH"])
    await clients.auth.logout({}, bearer(auth))
    await expect.poll(() => ask("GET", "/whoami", notes)).toEqual([401, "SESSION_REVOKED"])
    expect(await ask("GET", "/whoami", bystander.tokens["svc-notes"] ?? "")).toEqual([200])
  })

  test("introspects the token if a requirement demands its current state", async () => {
    const { tokens } = await person()
    const [notes = "", auth = ""] = [tokens["svc-notes"], tokens.auth]
    // By now the token is older than the requirement allows.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    expect(await ask("GET", "/now", notes)).toEqual([200])
    await clients.auth.logout({}, bearer(auth))
    expect(await ask("GET", "/now", notes)).toEqual([401, "TOKEN_REVOKED"])
  })

  test("requests its caller's permissions", async () => {
    const appId = world.app.id
    const { principalId, refreshToken } = await person()
    const role = { key: "editor", permissions: [editNote], inheritable: true }
    const { role: made } = await clients.admin.createRole({ appId, role }, world.as("root"))
    const on = { appId, principalId, roleId: made?.id ?? "", resource: { type: "note", id: "n1" } }
    await clients.admin.createGrant(on, world.as("root"))
    const { accessTokens } = await clients.auth.refresh({ refreshToken, audiences: ["auth", "svc-notes"] })
    const token = accessTokens["svc-notes"] ?? ""
    expect(await ask("PUT", "/notes/n1", token)).toEqual([200])
    expect(await ask("PUT", "/notes/n2", token)).toEqual([403, "RESOURCE_NOT_GRANTED"])
    expect(await ask("PUT", "/notes/none", token)).toEqual([403, "RESOURCE_UNRESOLVED"])
    expect(await ask("DELETE", "/notes/n1", token)).toEqual([404, "METHOD_UNKNOWN"])
  })
})
