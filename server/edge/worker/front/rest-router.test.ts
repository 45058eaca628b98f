// The front must find the route that Node's router finds, for any path.

import fc from "fast-check"
import Fastify, { type FastifyReply } from "fastify"
import { afterAll, beforeAll, expect, test } from "vitest"
import { effort } from "../../../../test/support/effort.ts"
import { routerPath } from "../../../node/rest-plugin.ts"
import { services } from "../../../node/routes.ts"
import { restRoutes } from "../../../serving/rest/rest.ts"
import { decodedPath, restRouter } from "./rest-router.ts"

const routes = restRoutes({
  routes(router) {
    for (const service of services) router.service(service, {})
  },
  interceptors: [],
  onFault() {},
})
const find = restRouter(routes)
const app = Fastify({ routerOptions: { maxParamLength: 256 }, exposeHeadRoutes: false, frameworkErrors: refuse })

function refuse(_error: unknown, _request: unknown, reply: Pick<FastifyReply, "raw">): void {
  reply.raw.writeHead(400).end("malformed")
}

beforeAll(async () => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  app.setNotFoundHandler((_, reply) => reply.send("none"))
  for (const { verb, path } of routes) {
    app.route({ method: verb, url: routerPath(path), handler: (_, reply) => reply.send(`${verb} ${path}`) })
  }
  await app.ready()
})
afterAll(() => app.close())

function found(verb: string, path: string): string {
  try {
    const route = find(verb, decodedPath(path))
    return route === undefined ? "none" : `${route.verb} ${route.path}`
  } catch {
    return "malformed"
  }
}

const byNode = async (verb: "GET" | "POST", url: string): Promise<string> =>
  (await app.inject({ method: verb, url })).body

/** Texts that a caller may send as a variable. */
const parts = fc.oneof(
  fc.constantFrom("", "a", "dev_1", "a:b", ":", "a%3Ab", "%2F", "a%2Fb", "%", "%zz", "%C3%A9", "%ff", "%00"),
  fc.constantFrom("x".repeat(256), "x".repeat(257), `${"%41".repeat(256)}`, "*", "a?b", "a;b", "a%23b", "a.b~c"),
  fc.constantFrom(...new Set(routes.flatMap(({ path }) => path.split("/").filter((each) => !each.includes("{"))))),
)
const paths = fc
  .tuple(fc.constantFrom(...routes), fc.array(parts, { minLength: 4, maxLength: 4 }), fc.nat(9), parts)
  .map(([{ verb, path }, given, change, other]) => {
    let at = 0
    const segments = path.split("/").map((segment) => segment.replace(/\{\w+\}/, () => given[at++] ?? ""))
    if (change === 0) segments.push(other)
    if (change === 1) segments.pop()
    if (change === 2) segments[1 + (other.length % (segments.length - 1))] = other
    if (change === 3) segments[segments.length - 1] += `:${other}`
    return {
      verb: verb === "GET" ? ("GET" as const) : ("POST" as const),
      path: segments.join("/").replace(/\?.*$/, ""),
    }
  })
  .filter(({ path }) => path.startsWith("/"))

test("every route is found by both", async () => {
  expect(routes.length).toBeGreaterThan(100)
  for (const { verb, path } of routes) {
    const url = path.replace(/\{\w+\}/g, "x1")
    expect(found(verb, url), url).toBe(`${verb} ${path}`)
  }
})

test("any path leads to the same route in both", async () => {
  await fc.assert(
    fc.asyncProperty(paths, async ({ verb, path }) => {
      expect([path, found(verb, path)]).toEqual([path, await byNode(verb, path)])
    }),
    { numRuns: effort(800, 20_000, 500_000) },
  )
})
