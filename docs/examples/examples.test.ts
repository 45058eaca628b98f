import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect"
import { createGuard, createLocalKeySet, type KeyValueStore } from "@signet/guard"
import { createMemoryReplay } from "@signet/guard/mailbox-replay"
import { nodeTokenCrypto } from "@signet/guard/node"
import { createActors as createCertified } from "@signet/guard/testing/actors"
import { createIssuer, ids } from "@signet/guard/testing/issuer"
import { newId } from "@signet/kernel/ids"
import { build } from "esbuild"
import { expect, onTestFinished, test } from "vitest"
import { createActors } from "./actors/actors.ts"
import { createGraph } from "./graph/graph.ts"
import { createNotes } from "./notes/notes.ts"
import { NotesService } from "./notes/notes_pb.ts"

const actor = { sub: ids.service, principal_type: "service", client_id: "svc-mail" }
const onBehalf = { gty: "on_behalf_of", sid: undefined, job_id: "job-1", act: actor }

test.each([
  ...["notes/notes.ts", "edge/worker.ts", "edge-revocations/worker.ts", "graph/graph.ts", "actors/actors.ts"],
  ...["chat/chat.ts"],
])("%s fits on a page", (file) => {
  const lines = readFileSync(join(import.meta.dirname, file), "utf8")
    .trimEnd()
    .split("\n")
  expect(lines.length).toBeLessThan(90)
})

test("the notes service implements notes.proto without any code for tokens", async () => {
  const issuer = createIssuer()
  const { router, routes } = createNotes({
    issuer: issuer.issuer,
    appId: issuer.appId,
    jwksUrl: "https://auth.example/jwks",
    fetch: async () => Response.json({ keys: [issuer.jwk] }),
    clock: issuer.clock,
  })
  const client = createClient(NotesService, createRouterTransport(routes, { router }))
  const headers = (claims: object) => ({
    authorization: `Bearer ${issuer.token({ tenant_id: ids.tenant, ...claims })}`,
  })
  const codeOf = async (call: Promise<unknown>) => {
    const thrown = await call.then(() => undefined, ConnectError.from)
    return thrown?.code
  }
  const writer = headers({ scp: ["notes.write"] })
  await client.addNote({ text: "by Ada" }, { headers: writer })
  await client.addNote({ text: "for Ada" }, { headers: headers({ scp: ["notes.write"], ...onBehalf }) })
  const { notes } = await client.listNotes({ tenantId: ids.tenant }, { headers: headers({}) })
  expect(notes).toEqual(["by Ada", "for Ada"])

  expect(await codeOf(client.listNotes({ tenantId: ids.tenant }))).toBe(Code.Unauthenticated)
  expect(await codeOf(client.listNotes({ tenantId: "ten_other" }, { headers: headers({}) }))).toBe(
    Code.PermissionDenied,
  )
  expect(await codeOf(client.addNote({ text: "x" }, { headers: headers({}) }))).toBe(Code.PermissionDenied)
  const other = { ...onBehalf, act: { ...actor, client_id: "svc-other" }, scp: ["notes.write"] }
  expect(await codeOf(client.addNote({ text: "x" }, { headers: headers(other) }))).toBe(Code.PermissionDenied)
})

// A program for one platform: where there is none, npm has left it out.
const modules = join(import.meta.dirname, "../../node_modules/@cloudflare")
const hasWorkerd = existsSync(modules) && readdirSync(modules).some((name) => name.startsWith("workerd-"))

test.skipIf(!hasWorkerd)("the edge worker decides in workerd, and asks the issuer for its keys once", async () => {
  const { Miniflare, Response: WorkerResponse } = await import("miniflare")
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "edge/worker.ts")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2024",
  })
  const issuer = createIssuer()
  // workerd's clock cannot be set.
  issuer.pass(Date.now() - issuer.clock.nowMs())
  let asked = 0
  const worker = new Miniflare({
    modules: true,
    script: outputFiles[0]?.text ?? "",
    compatibilityDate: "2026-07-01",
    kvNamespaces: ["KEYS", "NOTES"],
    bindings: { ISSUER: issuer.issuer, APP_ID: issuer.appId, JWKS_URL: "https://auth.example/jwks" },
    outboundService: () => {
      asked++
      return WorkerResponse.json({ keys: [issuer.jwk] })
    },
  })
  onTestFinished(() => worker.dispose())
  // Its type wants the types of Workers, which are not here.
  const storeOf = async (name: string) => (await worker.getKVNamespace(name)) as unknown as KeyValueStore
  const stored = await storeOf("NOTES")
  await stored.put(ids.tenant, '["by Ada"]')
  const get = async (tenant: string, authorization?: string) => {
    const answer = await worker.dispatchFetch(`https://notes.example/tenants/${tenant}/notes`, {
      headers: authorization === undefined ? {} : { authorization },
    })
    return { status: answer.status, challenge: answer.headers.get("www-authenticate"), body: await answer.json() }
  }
  const bearer = (claims: object = {}, header: object = {}) =>
    `Bearer ${issuer.token({ tenant_id: ids.tenant, ...claims }, header)}`

  for (let i = 0; i < 10; i++) expect(await get(ids.tenant, bearer())).toMatchObject({ status: 200, body: ["by Ada"] })
  expect(await get(ids.tenant)).toMatchObject({ status: 401, challenge: 'Bearer realm="signet"' })
  const refusals: readonly [string, string][] = [
    [bearer({ scp: [] }), "MISSING_SCOPE"],
    [bearer({ aud: "svc-mail" }), "AUDIENCE_MISMATCH"],
    [bearer({ app_id: newId("app", 2, new Uint8Array(10)) }), "APP_MISMATCH"],
    [bearer({ exp: 1 }), "TOKEN_EXPIRED"],
    [bearer({}, { alg: "none" }), "ALG_NOT_ALLOWED"],
    [bearer(onBehalf), "ACTOR_NOT_ALLOWED"],
    [`${bearer().slice(0, -8)}AAAAAAAA`, "SIGNATURE_INVALID"],
  ]
  for (const [authorization, reason] of refusals) {
    expect(await get(ids.tenant, authorization)).toMatchObject({ body: { reason } })
  }
  expect(await get("ten_other", bearer())).toMatchObject({ status: 403, body: { reason: "TENANT_MISMATCH" } })
  expect(asked).toBe(1)
  const kept = await (await storeOf("KEYS")).get("signet-jwks")
  expect(JSON.parse(JSON.parse(kept ?? "{}").text)).toEqual({ keys: [issuer.jwk] })
})

test("a graph's ports decide one by one", async () => {
  const issuer = createIssuer()
  const keySet = createLocalKeySet(issuer, nodeTokenCrypto)
  const guard = createGuard({ ...issuer, keySet, crypto: nodeTokenCrypto })
  const sent: string[] = []
  const graph = createGraph({
    guard,
    findNotes: async () => ["one", "two", "three"],
    send: async (_, text) => void sent.push(text),
  })
  const enter = (claims: object, tenant: string = ids.tenant) => ({
    authorization: `Bearer ${issuer.token({ tenant_id: ids.tenant, scp: ["notes.read", "mail.send"], ...claims })}`,
    values: new Map([["tenant_id", tenant]]),
  })
  expect(await graph.digest(enter({}), { most: 2 })).toBe(2)
  expect(sent).toEqual(["one\ntwo"])
  expect(await graph.notes(enter({ scp: ["notes.read"] }), null)).toHaveLength(3)

  const denied = [
    graph.digest(enter({ scp: ["notes.read"] }), { most: 2 }),
    graph.digest(enter({}, "ten_other"), { most: 2 }),
    // svc-mail acts here, and only svc-digest may.
    graph.mail(enter(onBehalf), { text: "x" }),
    graph.digest({ ...enter({}), authorization: null }, { most: 2 }),
  ]
  const reasons = await Promise.all(denied.map((call) => call.catch((error) => error.reason)))
  expect(reasons).toEqual(["MISSING_SCOPE", "TENANT_MISMATCH", "ACTOR_NOT_ALLOWED", "NO_CREDENTIAL"])
  expect(sent).toHaveLength(1)
})

test("a message goes from actor to actor with the user's authority, and with less at each", async () => {
  const certified = createCertified()
  const { access, contextKeys } = certified
  const guardOf = (audience: string) =>
    createGuard({ ...access, audience, keySet: createLocalKeySet(access, nodeTokenCrypto), crypto: nodeTokenCrypto })
  const web = await certified.actor({ clientId: "svc-web", mailboxes: ["svc-notes/*"] })
  const notes = await certified.actor({ clientId: "svc-notes", mailboxes: ["svc-mail/*"] })
  const sent: unknown[] = []
  const queue: [string, Uint8Array][] = []
  const actors = createActors({
    ...access,
    contextKeys,
    replay: createMemoryReplay(access),
    guards: { notes: guardOf("svc-notes"), mail: guardOf("svc-mail") },
    notes: notes.sender,
    deliver: async (...posted) => void queue.push(posted),
    findNotes: async () => ["one", "two", "three"],
    send: async (...mail) => void sent.push(mail),
  })
  const contextToken = certified.contextToken(web, { scp: ["notes.read", "mail.send", "notes.write"] })
  const ask = async (scopes: readonly string[], tenant: string = ids.tenant) => {
    const message = new TextEncoder().encode(JSON.stringify({ tenant_id: tenant, most: 2 }))
    const mailbox = "svc-notes/digest"
    queue.push([mailbox, await web.sender.seal({ mailbox, contextToken, scopes, message })])
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await actors.get(next[0])?.(next[1])
  }
  await ask(["notes.read", "mail.send"])
  expect(sent).toEqual([[ids.principal, "one\ntwo"]])

  const reasonOf = (asked: Promise<void>) => asked.catch((error) => error.reason)
  const reasons = [
    await reasonOf(ask(["mail.send"])),
    await reasonOf(ask(["notes.read", "mail.send"], "ten_other")),
    await reasonOf(ask(["notes.read"])),
  ]
  // The last one may be summed up, and the notes actor cannot make it one that may be mailed.
  expect(reasons).toEqual(["MISSING_SCOPE", "TENANT_MISMATCH", "ENVELOPE_SCOPES_WIDENED"])
  expect(sent).toHaveLength(1)
})
