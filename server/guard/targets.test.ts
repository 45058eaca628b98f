// What is specific to Fastify, ports, tools and mailboxes. vectors/ has their decisions.
import type { Requirement } from "@signet/kernel/authz/requirement"
import { Refused } from "@signet/kernel/errors"
import fastify from "fastify"
import { describe, expect, test } from "vitest"
import { guardMiddleware } from "./express.ts"
import { callerOf, guardHook } from "./fastify.ts"
import { guardFetch } from "./fetch.ts"
import { createGuard } from "./guard.ts"
import { jsonField } from "./json-field.ts"
import { createLocalKeySet } from "./key-set.ts"
import { createMailbox } from "./mailbox/mailbox.ts"
import { createMemoryReplay } from "./mailbox/replay.ts"
import { nodeTokenCrypto } from "./node/token-crypto.ts"
import { pathTemplate } from "./path-template.ts"
import { type GraphContext, guardPort } from "./port.ts"
import { createActors } from "./testing/actors.ts"
import { createIssuer, ids } from "./testing/issuer.ts"
import { guardTool, type ToolCall } from "./tool.ts"

const issuer = createIssuer()
const guard = createGuard({ ...issuer, keySet: createLocalKeySet(issuer, nodeTokenCrypto), crypto: nodeTokenCrypto })
const reads: Requirement = { is: "scope", scope: "notes.read" }
const tenantFrom = (from: "PATH" | "BODY" | "HEADER" | "GRAPH"): Requirement => ({
  is: "tenant",
  from,
  field: from === "HEADER" ? "x-tenant" : "tenant_id",
})
const token = issuer.token({ tenant_id: ids.tenant })
const authorization = `Bearer ${token}`

describe("a Fastify hook", () => {
  const app = fastify()
  const heard: string[] = []
  for (const from of ["PATH", "BODY", "HEADER"] as const) {
    const preHandler = guardHook({ guard, requirement: tenantFrom(from) })
    app.post(`/${from}/:tenant_id`, { preHandler }, async (request) => {
      heard.push(from)
      return { caller: callerOf(request)?.principal.id }
    })
  }
  app.get("/public", { preHandler: guardHook({ guard, requirement: { is: "public" } }) }, async (request) => ({
    known: callerOf(request) !== undefined,
  }))

  test("reads path, body and header, and passes the caller to the handler", async () => {
    const headers = { authorization, "x-tenant": ids.tenant }
    const payload = { tenantId: ids.tenant }
    for (const from of ["PATH", "BODY", "HEADER"]) {
      const answer = await app.inject({ method: "POST", url: `/${from}/${ids.tenant}`, headers, payload })
      expect(answer.json()).toEqual({ caller: ids.principal })
    }
  })

  test("answers a refused call itself", async () => {
    heard.length = 0
    const answer = await app.inject({ method: "POST", url: `/PATH/ten_other`, headers: { authorization }, payload: {} })
    expect(answer.statusCode).toBe(403)
    expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/)
    expect(answer.json()).toMatchObject({ reason: "TENANT_MISMATCH", status: 403, domain: "signet" })
    expect(heard).toEqual([])
  })

  test("ignores credentials on a public route", async () => {
    expect((await app.inject({ url: "/public", headers: { authorization } })).json()).toEqual({ known: false })
    expect((await app.inject({ url: "/public", headers: { authorization: "Bearer x" } })).statusCode).toBe(200)
  })

  test("has no graph", () => {
    expect(() => guardHook({ guard, requirement: tenantFrom("GRAPH") })).toThrow(/GRAPH/)
  })
})

test("a hook of Fastify that Express calls names the right function", async () => {
  const hook = guardHook({ guard, requirement: reads })
  const response = JSON.parse("{}")
  await expect(hook({ headers: { authorization }, params: {}, body: {} }, response)).rejects.toThrow("guardMiddleware")
})

describe("Express middleware", () => {
  /** The status of the answer; undefined if the next handler ran. */
  async function statusOf(requirement: Requirement, headers: Record<string, string | string[]>) {
    let status: number | undefined
    let passed = 0
    const middleware = guardMiddleware({ guard, requirement })
    const response = { writeHead: (code: number) => (status = code), end: () => undefined }
    await middleware({ headers: { authorization, ...headers } }, response, () => passed++)
    expect(passed).toBe(status === undefined ? 1 : 0)
    return status
  }

  test("reads a tenant from a header that is there once", async () => {
    const requirement = tenantFrom("HEADER")
    expect(await statusOf(requirement, { "x-tenant": ids.tenant })).toBeUndefined()
    expect(await statusOf(requirement, { "x-tenant": "ten_other" })).toBe(403)
    expect(await statusOf(requirement, { "x-tenant": [ids.tenant, ids.tenant] })).toBe(403)
    expect(await statusOf(requirement, {})).toBe(403)
  })

  test("refuses a call with two credentials", async () => {
    expect(await statusOf(reads, { authorization: [authorization, authorization] })).toBe(401)
  })
})

describe("a port", () => {
  const context: GraphContext = { authorization, values: new Map([["tenant_id", ids.tenant]]) }

  test("runs with the input, the caller and the context", async () => {
    const port = guardPort({ guard, requirement: tenantFrom("GRAPH") }, (input: number, caller, at) => [
      input,
      caller?.principal.id,
      at === context,
    ])
    expect(await port(context, 7)).toEqual([7, ids.principal, true])
  })

  test("throws the refusal and does not run", async () => {
    let runs = 0
    const port = guardPort({ guard, requirement: reads }, () => runs++)
    const refused = await port({ ...context, authorization: null }, {}).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Refused)
    expect(refused).toMatchObject({ reason: "NO_CREDENTIAL", status: 401 })
    expect(runs).toBe(0)
  })

  test("does not read values of the graph from the input", async () => {
    const port = guardPort({ guard, requirement: tenantFrom("GRAPH") }, () => "ran")
    await expect(port({ ...context, values: new Map() }, { tenant_id: ids.tenant })).rejects.toThrow(Refused)
  })

  test("looks up a resource for a known caller only", async () => {
    const found: string[] = []
    const findResource = async (_: string, id: string) => void found.push(id)
    const requirement = { is: "resourceAction", action: "a.b.c", type: "note", from: "BODY", field: "id" } as const
    const port = guardPort({ guard, requirement, findResource }, () => "ran")
    const refusalOf = (by: string | null) =>
      port({ ...context, authorization: by }, { id: "n1" }).catch((error: unknown) => error)
    expect(await refusalOf(null)).toMatchObject({ reason: "NO_CREDENTIAL" })
    expect(await refusalOf("Bearer x")).toMatchObject({ reason: "MALFORMED_CREDENTIAL" })
    expect(found).toEqual([])
    expect(await refusalOf(authorization)).toMatchObject({ reason: "RESOURCE_UNRESOLVED" })
    expect(found).toEqual(["n1"])
  })

  test("has no headers", () => {
    expect(() => guardPort({ guard, requirement: tenantFrom("HEADER") }, () => 1)).toThrow(/HEADER/)
  })
})

describe("a tool", () => {
  const run = async (requirement: Requirement, change: Partial<ToolCall>, work: () => number | undefined = () => 0) => {
    const lines: string[] = []
    const call = { token, args: new Map(), json: false, complain: (line: string) => lines.push(line), ...change }
    const code = await guardTool({ guard, requirement }, work)(call)
    return { code, lines }
  }

  test("runs, and returns the command's exit code", async () => {
    expect(await run(reads, {})).toEqual({ code: 0, lines: [] })
    expect(await run(reads, {}, () => undefined)).toEqual({ code: 0, lines: [] })
    expect(await run(reads, {}, () => 9)).toEqual({ code: 9, lines: [] })
    const args = new Map([["tenant_id", ids.tenant]])
    expect((await run(tenantFrom("BODY"), { args })).code).toBe(0)
  })

  test("prints a refusal as a sentence, or as a problem document in one line", async () => {
    expect(await run(reads, { token: undefined })).toEqual({
      code: 3,
      lines: ["the request has no access token: sign in first (NO_CREDENTIAL)"],
    })
    const { code, lines } = await run({ is: "scope", scope: "notes.write" }, { json: true })
    expect(code).toBe(4)
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ reason: "MISSING_SCOPE", metadata: { scope: "notes.write" } })
  })

  test("maps a refusal by the command itself to an exit code", async () => {
    const codes = []
    for (const reason of [
      "KEY_PACKAGE_INVALID",
      "TOKEN_EXPIRED",
      "MISSING_SCOPE",
      "NOT_FOUND",
      "COMMIT_CONFLICT",
      "RATE_LIMITED",
      "UNAVAILABLE",
      "INTERNAL",
    ] as const) {
      const refuse = () => {
        throw new Refused(reason)
      }
      codes.push((await run(reads, {}, refuse)).code)
    }
    expect(codes).toEqual([2, 3, 4, 5, 6, 7, 10, 1])
  })

  test("does not hide a fault", async () => {
    const fail = () => {
      throw new Error("a fault")
    }
    await expect(run(reads, {}, fail)).rejects.toThrow("a fault")
  })
})

describe("a mailbox", async () => {
  const actors = createActors(issuer)
  const web = await actors.actor({ clientId: "svc-web", mailboxes: ["svc-notes/*"] })
  const mailboxFor = (requirement: Requirement) =>
    createMailbox(
      {
        guard,
        requirement,
        mailbox: "svc-notes/inbox",
        issuer: issuer.issuer,
        contextKeys: actors.contextKeys,
        clock: issuer.clock,
        replay: createMemoryReplay(issuer),
        read: (message) => JSON.parse(new TextDecoder().decode(message)),
      },
      ({ auth }) => auth?.principal.id,
    )
  const posted = (message: object) =>
    web.sender.seal({
      mailbox: "svc-notes/inbox",
      contextToken: actors.contextToken(web),
      scopes: [],
      message: new TextEncoder().encode(JSON.stringify(message)),
    })

  test.each(["PATH", "BODY"] as const)("reads %s from the message", async (from) => {
    const receive = mailboxFor(tenantFrom(from))
    expect(await receive(await posted({ tenantId: ids.tenant }))).toBe(ids.principal)
    const refused = await receive(await posted({ tenantId: "ten_other" })).catch((error: unknown) => error)
    expect(refused).toMatchObject({ reason: "TENANT_MISMATCH", status: 403 })
    await expect(receive(await posted({ tenantId: ids.tenant, tenant_id: ids.tenant }))).rejects.toThrow(Refused)
  })

  test.each(["HEADER", "GRAPH"] as const)("has no %s", (from) => {
    expect(() => mailboxFor(tenantFrom(from))).toThrow(from)
  })
})

describe("a requirement that names an empty field is refused before the first call", () => {
  const targets: Record<string, (requirement: Requirement) => unknown> = {
    Express: (requirement) => guardMiddleware({ guard, requirement }),
    Fastify: (requirement) => guardHook({ guard, requirement }),
    fetch: (requirement) => guardFetch({ guard, requirement, path: "/" }, () => new Response()),
    "a port": (requirement) => guardPort({ guard, requirement }, () => 1),
    "a tool": (requirement) => guardTool({ guard, requirement }, () => 0),
    "a mailbox": (requirement) => {
      const { contextKeys } = createActors(issuer)
      const at = { mailbox: "svc-notes/inbox", issuer: issuer.issuer, clock: issuer.clock, contextKeys }
      createMailbox({ guard, requirement, ...at, replay: createMemoryReplay(issuer), read: () => ({}) }, () => 1)
    },
  }
  test.each(Object.entries(targets))("of %s", (_, make) => {
    for (const from of ["PATH", "BODY", "HEADER", "GRAPH"] as const) {
      expect(() => make({ is: "tenant", from, field: "" }), from).toThrow(`${from} has no field "" here`)
    }
  })
})

test.each([
  [{ a: { b_c: "x" } }, "a.b_c", "x"],
  [{ a: { bC: "x" } }, "a.b_c", "x"],
  [{ a: { bC: "x", b_c: "x" } }, "a.b_c", undefined],
  [{ a: "" }, "a", undefined],
  [{ a: 1 }, "a", undefined],
  [["x"], "0", undefined],
  [null, "a", undefined],
  [{}, "constructor.name", undefined],
  [{}, "__proto__", undefined],
])("%j at %s is %j", (value, path, expected) => {
  expect(jsonField(value, path)).toBe(expected)
})

test("a template matches its own segments only; its variables are whole segments with distinct names", () => {
  expect([...(pathTemplate("/a/{b}/{c}").match("/a/1/2%2F3") ?? [])]).toEqual([
    ["b", "1"],
    ["c", "2/3"],
  ])
  for (const path of ["/x/1/2", "/a/1", "/a/1/2/3", "/a//2", "/A/1/2"]) {
    expect(pathTemplate("/a/{b}/{c}").match(path), path).toBeUndefined()
  }
  expect(pathTemplate("/a/{b}/end").match("/a/1/END")).toBeUndefined()
  expect(() => pathTemplate("/a/x{b}")).toThrow()
  expect(() => pathTemplate("/a/{b}/{b}")).toThrow()
})
