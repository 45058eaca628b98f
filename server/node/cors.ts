import type { FastifyInstance } from "fastify"
import { crossOrigin } from "../serving/rest/cross-origin.ts"

/** So many origins are named in the log, each once: strangers do not fill it. */
const mostNamed = 100

/** Answers preflights, and marks answers for pages of these origins. The log names others that asked. */
export function addCors(app: FastifyInstance, isAllowed: (origin: string) => Promise<boolean>): void {
  const named = new Set<string>()
  const name = (origin: string) => {
    if (named.has(origin) || named.size >= mostNamed) return
    named.add(origin)
    app.log.warn({ url: origin }, "CORS rejected a page, because no app's allowed_origins has its origin")
  }
  app.addHook("onRequest", async ({ method, headers }, reply) => {
    const header = (name: string) => headers[name]?.toString()
    const crossed = await crossOrigin(method, header, isAllowed)
    // On the raw response, because Connect's answers do not pass through Fastify's reply.
    for (const [name, value] of Object.entries(crossed.headers)) reply.raw.setHeader(name, value)
    const origin = header("origin")
    const isRefused = method === "OPTIONS" && crossed.headers["access-control-allow-origin"] === undefined
    if (isRefused && origin !== undefined && /^https?:\/\/[\w.:[\]-]{1,255}$/.test(origin)) name(origin)
    if (crossed.isPreflight) return reply.code(204).send()
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
