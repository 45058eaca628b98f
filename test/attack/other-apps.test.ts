// Presents a valid token of another app to each target of the guard. The issuer signed it for this audience, and it has
// not expired.
import { createEdgeGuard } from "@signet/guard/edge"
import { anyApp, createGuard, type Guard } from "@signet/guard/guard"
import { createLocalKeySet } from "@signet/guard/key-set"
import { createNodeGuard, nodeTokenCrypto } from "@signet/guard/node"
import { createActors } from "@signet/guard/testing/actors"
import { ids } from "@signet/guard/testing/issuer"
import { connectTarget } from "@signet/guard/vectors/targets/connect"
import { expressTarget } from "@signet/guard/vectors/targets/express"
import { fastifyTarget } from "@signet/guard/vectors/targets/fastify"
import { fetchTarget } from "@signet/guard/vectors/targets/fetch"
import { portTarget } from "@signet/guard/vectors/targets/port"
import type { Target } from "@signet/guard/vectors/targets/target"
import { toolTarget } from "@signet/guard/vectors/targets/tool"
import { newId } from "@signet/kernel/ids"
import { describe, expect, test } from "vitest"
import { actors, mailboxOf, post, reasonOf } from "../support/mailboxes.ts"

const { access } = createActors()
const { issuer, audience, clock } = access
const keySet = createLocalKeySet(access, nodeTokenCrypto)
const otherApp = newId("app", 2, new Uint8Array(10))
const jwksUrl = "https://auth.example/jwks"
const fetcher: typeof fetch = async () => Response.json({ keys: [access.jwk] })

const guards: readonly (readonly [string, (appId: string) => Guard])[] = [
  ["createGuard", (appId) => createGuard({ issuer, audience, appId, clock, keySet })],
  ["createEdgeGuard", (appId) => createEdgeGuard({ issuer, audience, appId, clock, jwksUrl, fetch: fetcher })],
  ["createNodeGuard", (appId) => createNodeGuard({ issuer, audience, appId, clock, keySet })],
]
const targets: readonly (readonly [string, Target])[] = [
  ["Connect", connectTarget],
  ["Express", expressTarget],
  ["Fastify", fastifyTarget],
  ["fetch", fetchTarget],
  ["a port", portTarget],
  ["a tool", toolTarget],
]
const findResource = async () => undefined
const called = (app: string) => ({
  authorization: `Bearer ${access.token({ app_id: app })}`,
  contextToken: "",
  scopes: [],
  request: {},
})

describe.each(guards)("behind %s", (_, guardOf) => {
  test.each(targets)(
    "%s refuses a token of another app, and accepts it if the guard serves any app",
    async (_, target) => {
      const requirement = { is: "scope", scope: "notes.read" } as const
      const own = target({ guard: guardOf(ids.app), requirement, findResource })
      expect(await own(called(otherApp))).toMatchObject({ allow: false, status: 403, reason: "APP_MISMATCH" })
      expect(await own(called(ids.app))).toEqual({ allow: true, caller: ids.principal })
      const every = target({ guard: guardOf(anyApp), requirement, findResource })
      expect(await every(called(otherApp))).toEqual({ allow: true, caller: ids.principal })
    },
  )

  test.each(targets)(
    "%s passes no caller of another app to a handler that verifies its own credential",
    async (_, to) => {
      const requirement = { is: "bodyCredential" } as const
      const own = to({ guard: guardOf(ids.app), requirement, findResource })
      expect(await own(called(otherApp))).toEqual({ allow: true, caller: null })
      expect(await own(called(ids.app))).toEqual({ allow: true, caller: ids.principal })
    },
  )
})

test("a mailbox refuses a message with the authority of another app", async () => {
  const web = await actors.actor({ clientId: "svc-web", mailboxes: ["svc-notes/*"] })
  const contextToken = actors.contextToken(web, { app_id: otherApp })
  const posted = await web.sender.seal({ ...post(), contextToken, message: new Uint8Array() })
  expect(await reasonOf(mailboxOf().receive(posted))).toBe("APP_MISMATCH")
  expect(await reasonOf(mailboxOf({ guarded: { appId: anyApp } }).receive(posted))).toBe("taken")
})

describe("a guard without appId", () => {
  const without = { issuer, audience, clock, keySet, jwksUrl, fetch: fetcher }

  test("does not compile", () => {
    // @ts-expect-error: appId is required.
    expect(() => createGuard(without)).toThrow("option appId is missing")
    // @ts-expect-error: appId is required.
    expect(() => createEdgeGuard(without)).toThrow("option appId is missing")
    // @ts-expect-error: appId is required.
    expect(() => createNodeGuard(without)).toThrow("option appId is missing")
  })

  test.each([
    ["undefined", undefined],
    ["null", null],
    ["empty", ""],
    ["a tenant", ids.tenant],
    ["an app in capitals", ids.app.toUpperCase()],
    ["an app and a line end", `${ids.app}\n`],
    ["a list with an app in it", [ids.app]],
  ])("is not built when its option is %s", (_, value) => {
    for (const [, guardOf] of guards)
      expect(() => Reflect.apply(guardOf, undefined, [value])).toThrow("option appId is")
  })
})
