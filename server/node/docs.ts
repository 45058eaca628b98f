import { readFileSync } from "node:fs"
import reference from "@scalar/fastify-api-reference"
import type { FastifyInstance } from "fastify"

const document = new URL("../../gen/openapi/openapi.json", import.meta.url)

/** The page contains its own script and style. It loads nothing from other origins and sends nothing to them. */
const policy = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ")

/** Serves `/openapi.json`, and a page at `/docs` that shows it. */
export async function addDocs(app: FastifyInstance): Promise<void> {
  const bytes = readFileSync(document)
  app.get("/openapi.json", (_, reply) =>
    reply.header("content-type", "application/json").header("cache-control", "public, max-age=300").send(bytes),
  )
  await app.register(async (page) => {
    page.addHook("onSend", async (_request, reply) => {
      reply.header("content-security-policy", policy).header("x-content-type-options", "nosniff")
    })
    await page.register(reference, {
      routePrefix: "/docs",
      logLevel: "silent",
      configuration: {
        url: "/openapi.json",
        pageTitle: "Signet API",
        withDefaultFonts: false,
        hideClientButton: true,
        telemetry: false,
        // Keeps error codes unbroken and their descriptions visible.
        customCss:
          ".markdown :is(th, td) { font-size: 12px !important; padding: 4px 6px !important; word-break: normal !important } .markdown td code { font-size: 10px !important; word-break: normal !important }",
        // Shows only the documentation, without the tool's own services.
        showDeveloperTools: "never",
        agent: { disabled: true },
        mcp: { disabled: true },
      },
    })
  })
}
