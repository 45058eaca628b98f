import type { FastifyPluginCallback } from "fastify"
import { idpPath } from "./app.ts"
import type { DevelopmentIdp } from "./idp.ts"

/** Mounts the stand-in provider below idpPath: `app.register(developmentPlugin, { idp })`. */
export const developmentPlugin: FastifyPluginCallback<{ idp: DevelopmentIdp }> = (app, { idp }, done) => {
  // The provider reads the bodies itself.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  app.route({
    method: ["GET", "POST", "OPTIONS"],
    url: `${idpPath}/*`,
    async handler(request, reply) {
      reply.hijack()
      try {
        await idp.handle(request.raw, reply.raw)
      } catch (fault) {
        request.log.error(fault, "the stand-in provider failed")
        reply.raw.destroy()
      }
    },
  })
  done()
}
