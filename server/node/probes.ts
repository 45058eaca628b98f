import type { FastifyInstance } from "fastify"
import { inTime, readinessMs } from "../serving/in-time.ts"

/**
 * `/livez`: the process answers. `/readyz`: it can serve calls, for load balancers.
 *
 * @param isReady Checks the server's dependencies. A failure, or more than two seconds, means false.
 */
export function addProbes(app: FastifyInstance, isReady: () => Promise<boolean>): void {
  let isClosing = false
  app.addHook("preClose", (done) => {
    isClosing = true
    done()
  })
  app.get("/livez", (_, reply) => reply.header("cache-control", "no-store").send({ status: "live" }))
  app.get("/readyz", async (_, reply) => {
    const ready = !isClosing && (await inTime(isReady, readinessMs))
    return reply
      .code(ready ? 200 : 503)
      .header("cache-control", "no-store")
      .send({ status: ready ? "ready" : "not ready" })
  })
}
