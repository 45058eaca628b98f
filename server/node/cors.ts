// Cross-origin calls (Fetch standard, CORS protocol): exact origins of the apps, never a wildcard with credentials.
import type { FastifyInstance } from "fastify"

const allowedMethods = "GET, POST, PATCH, DELETE"
const allowedHeaders = [
  "authorization",
  "connect-protocol-version",
  "connect-timeout-ms",
  "content-type",
  "grpc-timeout",
  "idempotency-key",
  "signet-device-proof",
  "traceparent",
  "tracestate",
  "x-grpc-web",
  "x-signet-client",
  "x-user-agent",
].join(", ")
const exposedHeaders =
  "grpc-status, grpc-message, grpc-status-details-bin, ratelimit, ratelimit-policy, retry-after, www-authenticate"
/** Browsers cap it at two hours. */
const preflightSeconds = "7200"

/** Answers preflights and marks answers for pages of these origins; others get no header and so no answer. */
export function addCors(app: FastifyInstance, isAllowed: (origin: string) => Promise<boolean>): void {
  app.addHook("onRequest", async (request, reply) => {
    const { origin } = request.headers
    // On the raw response, because Connect's answers do not pass through Fastify's reply. On every one: an answer that a
    // shared cache keeps for a caller without an origin is not the one that a page may read.
    reply.raw.setHeader("vary", "Origin")
    // While nobody knows whose page it is, it is nobody's; what needs no database is answered all the same.
    if (origin === undefined || !(await isAllowed(origin).catch(() => false))) return
    reply.raw.setHeader("access-control-allow-origin", origin)
    reply.raw.setHeader("access-control-allow-credentials", "true")
    reply.raw.setHeader("access-control-expose-headers", exposedHeaders)
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return
    reply.raw.setHeader("access-control-allow-methods", allowedMethods)
    reply.raw.setHeader("access-control-allow-headers", allowedHeaders)
    reply.raw.setHeader("access-control-max-age", preflightSeconds)
    return reply.code(204).send()
  })
}

/**
 * Remembers an answer for a while: a preflight is no reason to ask the database. One look-up at a time; while look-ups
 * fail, the last answer stands.
 */
export function remembered<T>(load: () => Promise<T>, forMs: number, nowMs: () => number): () => Promise<T> {
  let value: Promise<T> | undefined
  let loadedAtMs = 0
  return () => {
    if (value === undefined || nowMs() - loadedAtMs >= forMs) {
      const last = value
      loadedAtMs = nowMs()
      value = last === undefined ? load() : load().catch(() => last)
      value.catch(() => {
        value = undefined
      })
    }
    return value
  }
}
