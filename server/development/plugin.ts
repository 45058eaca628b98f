import type { IncomingMessage, ServerResponse } from "node:http"
import type { FastifyPluginCallback } from "fastify"

/** A stand-in provider that runs in this process. */
export interface StandIn {
  /** The path prefix that it answers, such as `/dev/idp-a`. */
  readonly path: string
  /** Answers a request below its path. The body must be unread. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** Mounts a stand-in provider below its path: `app.register(developmentPlugin, { idp })`. */
export const developmentPlugin: FastifyPluginCallback<{ idp: StandIn }> = (app, { idp }, done) => {
  // The provider reads bodies itself.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  app.route({
    method: ["GET", "HEAD", "POST", "PUT", "OPTIONS"],
    url: `${idp.path}/*`,
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
