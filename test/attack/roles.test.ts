// Roles at each target of the guard: callers without the role get the same refusal, and a handler can tell "not loaded"
// from "none".

import { create } from "@bufbuild/protobuf"
import { ConnectError, createRouterTransport } from "@connectrpc/connect"
import { createConnectGuard, kAuth } from "@signet/guard/connect"
import { guardMiddleware } from "@signet/guard/express"
import { callerOf, guardHook } from "@signet/guard/fastify"
import { guardFetch } from "@signet/guard/fetch"
import { createGuard, type Guard } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { nodeTokenCrypto } from "@signet/guard/node"
import type { FindPermissions } from "@signet/guard/permissions/permissions"
import { guardPort } from "@signet/guard/port"
import { ids } from "@signet/guard/testing/issuer"
import { isUnary, serviceWith } from "@signet/guard/testing/methods"
import { guardTool } from "@signet/guard/tool"
import { wireOf } from "@signet/guard/vectors/targets/wire"
import { type AuthContext, notLoaded } from "@signet/kernel/authz/context"
import type { Requirement } from "@signet/kernel/authz/requirement"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import fastify from "fastify"
import { describe, expect, test } from "vitest"
import { actors, mailboxOf, post, web } from "../support/mailboxes.ts"

const { access } = actors
const keySet = createLocalKeySet(access, nodeTokenCrypto)
const authorization = `Bearer ${access.token()}`

/** The user's grants: the role editor of the app. They are in memory after the first look-up. */
function granting(): FindPermissions {
  let isHeld = false
  const snapshot = {
    roles: new Map([
      ["rol_1", { key: "editor", permissions: new Set(["notes.note.read", "notes.note.edit"]), inheritable: true }],
    ]),
    scopes: new Map([["notes.read", new Set(["notes.note.read"])]]),
    grants: [{ roleId: "rol_1", appId: ids.app, tenantId: null, contextId: null, resource: null, expiresAtMs: null }],
  }
  const find: FindPermissions = async () => {
    isHeld = true
    return snapshot
  }
  return Object.assign(find, { held: async () => (isHeld ? snapshot : undefined) })
}

type Seen = AuthContext | string | undefined
type Ask = (guard: Guard, requirement: Requirement) => Promise<Seen>

/** Returns the caller that the target passes to its handler, or the reason of the refusal. */
const targets: readonly (readonly [string, Ask])[] = [
  [
    "Connect",
    async (guard, requirement) => {
      const service = serviceWith([wireOf(requirement)])
      const [method] = service.methods
      if (method === undefined || !isUnary(method)) throw new Error("no method")
      let seen: Seen
      const { interceptor } = createConnectGuard({ guard, services: [service] })
      const transport = createRouterTransport(
        (routes) => {
          routes.rpc(method, (_, { values }) => {
            seen = values.get(kAuth)
            return create(method.output)
          })
        },
        { router: { interceptors: [interceptor] } },
      )
      const thrown = await transport.unary(method, undefined, undefined, { authorization }, {}).catch(ConnectError.from)
      return seen ?? (thrown instanceof ConnectError ? thrown.findDetails(ErrorInfoSchema)[0]?.reason : undefined)
    },
  ],
  [
    "Express",
    async (guard, requirement) => {
      const request = { headers: { authorization } }
      let text = ""
      const response = { writeHead: () => undefined, end: (sent: string) => (text = sent) }
      await guardMiddleware({ guard, requirement })(request, response, () => undefined)
      return callerOf(request) ?? JSON.parse(text).reason
    },
  ],
  [
    "Fastify",
    async (guard, requirement) => {
      let seen: Seen
      const app = fastify()
      app.get("/", { preHandler: guardHook({ guard, requirement }) }, async (request) => {
        seen = callerOf(request)
        return {}
      })
      const answer = await app.inject({ url: "/", headers: { authorization } })
      return seen ?? answer.json().reason
    },
  ],
  [
    "an edge worker",
    async (guard, requirement) => {
      let seen: Seen
      const handler = guardFetch({ guard, requirement }, (_, { caller }) => {
        seen = caller
        return Response.json({})
      })
      const answer = await handler(new Request("https://notes.example/", { headers: { authorization } }))
      const { reason } = await answer.json()
      return seen ?? reason
    },
  ],
  [
    "a port",
    (guard, requirement) =>
      guardPort({ guard, requirement }, (_: null, caller): Seen => caller)(
        { authorization, values: new Map() },
        null,
      ).catch((error) => error.reason),
  ],
  [
    "a tool",
    async (guard, requirement) => {
      let seen: Seen
      const tool = guardTool({ guard, requirement }, (_, caller) => {
        seen = caller
        return 0
      })
      await tool({
        token: authorization.slice("Bearer ".length),
        args: new Map(),
        json: true,
        complain: (line) => (seen = JSON.parse(line).reason),
      })
      return seen
    },
  ],
  [
    "a mailbox",
    async (guard, requirement) => {
      const contextToken = actors.contextToken(web)
      const { receive, handled } = mailboxOf({ guard, requirement })
      const posted = await web.sender.seal({ ...post(), contextToken, message: new Uint8Array() })
      const refused = await receive(posted).then(
        () => undefined,
        (error) => error.reason,
      )
      return handled[0]?.auth ?? refused
    },
  ],
]

describe.each(targets)("%s", (_, ask) => {
  const guardOf = (permissions?: FindPermissions) =>
    createGuard({ ...access, keySet, crypto: nodeTokenCrypto, ...(permissions === undefined ? {} : { permissions }) })
  const reads: Requirement = { is: "scope", scope: "notes.read" }

  test("refuses a caller without the role, and accepts one with it", async () => {
    expect(await ask(guardOf(granting()), { is: "role", role: "owner" })).toBe("MISSING_ROLE")
    expect(await ask(guardOf(), { is: "role", role: "editor" })).toBe("MISSING_ROLE")
    expect(await ask(guardOf(granting()), { is: "role", role: "editor" })).toMatchObject({
      roles: new Set(["editor"]),
      permissions: new Set(["notes.note.read"]),
    })
  })

  test("reports grants as not loaded, loads them on demand, and passes them from then on", async () => {
    const guard = guardOf(granting())
    const first = await ask(guard, reads)
    if (typeof first !== "object") throw new Error(first)
    expect([first.roles, first.permissions]).toEqual([notLoaded, notLoaded])
    const grants = { roles: new Set(["editor"]), permissions: new Set(["notes.note.read"]) }
    expect(await guard.loadGrants(first)).toEqual(grants)
    expect(await ask(guard, reads)).toMatchObject(grants)
  })
})
