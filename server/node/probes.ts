import type { FastifyInstance } from "fastify"
import { inTime, readinessMs } from "../serving/in-time.ts"

/** Names of conditions, with a function that checks each. A failure, or more than two seconds, means false. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<boolean>>>

/** Names of parts, with a function that is false while a part is incomplete, though calls are served. */
export type CompletenessChecks = Readonly<Record<string, () => boolean>>

/**
 * `/livez`: the process answers. `/readyz`: it can serve calls, for load balancers; otherwise the answer names the
 * conditions that are missing, and nothing else. A ready process names its incomplete parts as `degraded`.
 */
export function addProbes(app: FastifyInstance, checks: ReadinessChecks, parts: CompletenessChecks = {}): void {
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
    reply.header("cache-control", "no-store")
    if (names.length > 0) return reply.code(503).send({ status: "not ready", missing: names })
    const degraded = Object.keys(parts).filter((name) => parts[name]?.() === false)
    return reply.send(degraded.length === 0 ? { status: "ready" } : { status: "ready", degraded })
  })
}
