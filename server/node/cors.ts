import type { FastifyInstance } from "fastify"
import { crossOrigin } from "../serving/rest/cross-origin.ts"

/** Maximum number of origins in the log, each once, so that anonymous requests cannot fill it. */
const maxNamed = 100

/** Answers preflights and sets CORS headers for pages of allowed origins. Logs other origins. */
export function addCors(app: FastifyInstance, isAllowed: (origin: string) => Promise<boolean>): void {
  const named = new Set<string>()
  const name = (origin: string) => {
    if (named.has(origin) || named.size >= maxNamed) return
    named.add(origin)
    app.log.warn({ url: origin }, "CORS rejected a page, because no app's allowed_origins has its origin")
  }
  app.addHook("onRequest", async ({ method, headers }, reply) => {
    const header = (name: string) => headers[name]?.toString()
    const crossed = await crossOrigin(method, header, isAllowed)
    // Set on the raw response, because Connect's responses bypass Fastify's reply.
    for (const [name, value] of Object.entries(crossed.headers)) reply.raw.setHeader(name, value)
    const origin = header("origin")
    const isRefused = method === "OPTIONS" && crossed.headers["access-control-allow-origin"] === undefined
    if (isRefused && origin !== undefined && /^https?:\/\/[\w.:[\]-]{1,255}$/.test(origin)) name(origin)
    if (crossed.isPreflight) return reply.code(204).send()
  })
}

/**
 * Caches a result for a while, so that preflights do not query the database. Lookups do not overlap. While they fail,
 * the last result stays.
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
