import type { FastifyPluginCallback } from "fastify"

/**
 * POST /dev/admin: creates an administrator and returns their personal access token to any caller. `app.register(..., {
 * create })`.
 */
export const developmentAdmin: FastifyPluginCallback<{
  create: () => Promise<{ pat: string; expiresAtMs: number } | undefined>
}> = (app, { create }, done) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  app.post("/dev/admin", async (_, reply) => {
    const made = await create()
    return reply
      .header("cache-control", "no-store")
      .send(made && { pat: made.pat, expiresAt: new Date(made.expiresAtMs).toISOString() })
  })
  done()
}
