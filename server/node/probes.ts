import type { FastifyInstance } from "fastify"
import { inTime, readinessMs } from "../serving/in-time.ts"

/** Names of conditions, with a function that checks each. A failure, or more than two seconds, means false. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean>>>

/**
 * `/livez`: the process answers. `/readyz`: it can serve calls, for load balancers; otherwise the answer names the
 * conditions that are missing, and nothing else.
 */
export function addProbes(app: FastifyInstance, checks: ReadinessChecks): void {
  let isClosing = false
  app.addHook("preClose", (done) => {
    isClosing = true
    done()
  })
  const missing = async (): Promise<readonly string[]> => {
    if (isClosing) return ["running"]
    const entries = Object.entries(checks)
    const found = await Promise.all(entries.map(([, check]) => inTime(check, readinessMs)))
    return entries.flatMap(([name], index) => (found[index] ? [] : [name]))
  }
  app.get("/livez", (_, reply) => reply.header("cache-control", "no-store").send({ status: "live" }))
  app.get("/readyz", async (_, reply) => {
    const names = await missing()
    return reply
      .code(names.length === 0 ? 200 : 503)
      .header("cache-control", "no-store")
      .send(names.length === 0 ? { status: "ready" } : { status: "not ready", missing: names })
  })
}
