import Fastify, { type FastifyInstance } from "fastify"

/**
 * Creates the administration server with `/metrics` for Prometheus. The caller must listen on a private address.
 *
 * @param page Returns the metrics as text.
 */
export function createAdmin(page: () => Promise<string>, contentType: string): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true, exposeHeadRoutes: false })
  app.get("/metrics", async (_, reply) =>
    reply
      .header("content-type", contentType)
      .header("cache-control", "no-store")
      .send(await page()),
  )
  return app
}
