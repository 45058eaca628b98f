import Fastify, { type FastifyInstance } from "fastify"
import type { Registry } from "prom-client"

/** Creates the administration server with `/metrics` for Prometheus. The caller must listen on a private address. */
export function createAdmin(registry: Registry): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true, exposeHeadRoutes: false })
  app.get("/metrics", async (_, reply) =>
    reply
      .header("content-type", registry.contentType)
      .header("cache-control", "no-store")
      .send(await registry.metrics()),
  )
  return app
}
