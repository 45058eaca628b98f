// Every route of the public server. Those that the contract does not give stand here, each with its reason.
import { readFileSync } from "node:fs"
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt"
import { trace } from "@opentelemetry/api"
import { requirementOf } from "@signet/guard/requirement"
import { pino } from "pino"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createApp } from "../server/node/app.ts"
import { routeTable } from "../server/node/http.ts"
import { createMetrics } from "../server/node/metrics.ts"
import { services } from "../server/node/routes.ts"
import { bindingsOf, routeOf } from "../server/serving/rest/http-rule.ts"
import { storyStore } from "./support/postgres.ts"
import { startTestServer, type TestServer } from "./support/server.ts"

/** Beyond the specification. They take no credential and tell nothing of anybody. */
const beyond: Record<string, string> = {
  "GET /livez": "orchestrators restart what does not answer",
  "GET /readyz": "load balancers send calls to what is ready",
  "GET /openapi.json": "the contract for clients without protobuf",
  "GET /docs": "the same, for people: leads to /docs/",
  "GET /docs/": "the page",
  "GET /docs/js/scalar.js": "the page's script, so that it loads nothing from elsewhere",
  "GET /console": "the console's page",
  "GET /console/*": "the same, for the path of a screen",
  "GET /console/chat": "the chat's page, with a policy of its own",
  "GET /console/chat/*": "the same, for the callback of a sign-in",
  "GET /console/chat/offline.js": "the chat's service worker",
  "GET /console/assets/{name}": "the pages' scripts and styles",
  "GET /console/settings.json": "the app that the console signs in to",
  "POST /grpc.health.v1.Health/Check": "gRPC's own health protocol, for load balancers and meshes",
  "POST /grpc.health.v1.Health/List": "the same, of all services",
  "POST /grpc.health.v1.Health/Watch": "the same, as it changes",
}
const forDevelopment: Record<string, string> = {
  "POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo": "tools without the contract",
  "POST /grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": "older tools without the contract",
}

/** What the contract gives: each method over Connect and gRPC, reads with GET too, and the REST forms. */
const contract = services
  .flatMap((service) => service.methods)
  .flatMap((method) => [
    `POST /${method.parent.typeName}/${method.name}`,
    ...(method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS
      ? [`GET /${method.parent.typeName}/${method.name}`]
      : []),
    ...bindingsOf(method).map((binding) => `${binding.verb} ${routeOf(binding)}`),
  ])

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
})
afterAll(() => server?.close())

async function createTestApp(hasReflection: boolean) {
  const app = await createApp({
    deps: server.deps,
    messaging: server.messaging.deps,
    moving: server.store.moving,
    messagingAudience: server.deps.authAudience,
    liveness: server.store.liveness,
    revocations: server.revocations.feed,
    log: pino({ level: "silent" }),
    metrics: createMetrics(),
    tracer: trace.getTracer("test"),
    hasReflection,
    tls: null,
    trustedHops: 0,
    callLimitMs: 1_000,
    console: {
      appId: "app",
      isDevelopment: false,
      issuer: "https://auth.example",
      authAudience: "a",
      messagingAudience: "m",
      issuerRootKey: null,
      secondBackend: null,
    },
  })
  await app.ready()
  return app
}

async function routesOf(hasReflection: boolean): Promise<string[]> {
  const app = await createTestApp(hasReflection)
  // The router's way of writing variables, as the contract's.
  const routes = routeTable(app).map((route) =>
    route
      .replace("::", "\u0000")
      .replace(/:(\w+)(\([^)]*\))?/g, "{$1}")
      .replace("\u0000", ":"),
  )
  await app.close()
  return routes.toSorted()
}

test("the public server has no route but the contract's and those that are named here", async () => {
  expect(await routesOf(false)).toEqual([...contract, ...Object.keys(beyond)].toSorted())
})

test("the development profile adds reflection", async () => {
  const without = await routesOf(false)
  const added = (await routesOf(true)).filter((route) => !without.includes(route))
  expect(added).toEqual(Object.keys(forDevelopment))
})

/** What the specification makes public. */
const specified = /^(POST \/auth\/login\/|POST \/auth\/magic-link\/|GET \/\.well-known\/jwks\.json$)/

test("docs/reference/deviations.md has every public route that the specification has not, and no other", async () => {
  const page = readFileSync(new URL("../docs/reference/deviations.md", import.meta.url), "utf8")
  const section = page.slice(page.indexOf("## Public routes"), page.indexOf("## Messaging"))
  const documented = [...section.matchAll(/^\| `((?:GET|POST) [^`]+)` \| ([^|]+) \|/gm)].map(([, route, caller]) => ({
    route,
    isPublic: caller === "public",
  }))
  const methods = services.flatMap((service) => [...service.methods])
  /** The REST forms of a method whose RPC forms are open alike. */
  const restOf = (method: (typeof methods)[number]) =>
    bindingsOf(method).map((binding) => `${binding.verb} ${routeOf(binding)}`)
  const served = await routesOf(false)
  const rpc = new Set(
    methods.flatMap(({ parent, name }) => [`POST /${parent.typeName}/${name}`, `GET /${parent.typeName}/${name}`]),
  )
  const open = new Map<string, boolean>()
  for (const route of served.filter((one) => !rpc.has(one))) {
    const method = methods.find((one) => restOf(one).includes(route))
    const is = method === undefined ? "public" : requirementOf(method).is
    if (is === "public" || is === "bodyCredential") open.set(route, is === "public")
  }
  // Every open method has a REST form, so that none is open over RPC alone.
  for (const method of methods) {
    const { is } = requirementOf(method)
    if (is === "public" || is === "bodyCredential") expect(restOf(method)).not.toEqual([])
  }
  const beyondSpecified = [...open]
    .filter(([route]) => !specified.test(route))
    .map(([route, isPublic]) => ({ route, isPublic }))
  const byRoute = (a: { route?: string }, b: { route?: string }) => ((a.route ?? "") < (b.route ?? "") ? -1 : 1)
  expect(documented.toSorted(byRoute)).toEqual(beyondSpecified.toSorted(byRoute))
})

test("without a credential, the server answers an open route of the contract and refuses every other", async () => {
  const app = await createTestApp(false)
  for (const method of services.flatMap((service) => [...service.methods])) {
    if (method.methodKind !== "unary") continue
    const { is } = requirementOf(method)
    const answer = await app.inject({
      method: "POST",
      url: `/${method.parent.typeName}/${method.name}`,
      headers: { "content-type": "application/json" },
      payload: "{}",
    })
    const refusal = String((answer.json() as { code?: unknown }).code ?? "none")
    const isGuarded =
      answer.statusCode === 401 && answer.body.includes("NO_CREDENTIAL") && refusal === "unauthenticated"
    if (is !== "public" && is !== "bodyCredential") expect([method.name, isGuarded]).toEqual([method.name, true])
    if (is === "public") expect([method.name, answer.statusCode === 401]).toEqual([method.name, false])
  }
  await app.close()
})
