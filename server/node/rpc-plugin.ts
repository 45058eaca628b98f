// Connect, gRPC and gRPC-Web on Node's server: unary calls and server streams by the code of serving, everything else by
// Connect's handlers.
import { Code, ConnectError } from "@connectrpc/connect"
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node"
import { Refused } from "@signet/kernel/errors"
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify"
import { type ConnectHandler, connectHandlers } from "../serving/connect-handlers.ts"
import { fastStream } from "./fast-stream.ts"
import { type FastOptions, fastUnary } from "./fast-unary.ts"
import { readBody } from "./read-body.ts"
import { refuseCall } from "./refuse-call.ts"

interface RpcPluginOptions extends FastOptions {
  /** The implementation of calls; default "ours". Both give the same answers. */
  readonly calls?: "ours" | "connect"
}

/** Serves the methods over Connect, gRPC and gRPC-Web. */
export const rpcPlugin: FastifyPluginCallback<RpcPluginOptions> = (app, options, done) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  for (const each of connectHandlers(options)) {
    const fast = each.spec.kind === "unary" ? fastUnary(each.spec, options) : fastStream(each.spec, options)
    app.route({
      method: each.handler.allowedMethods,
      url: each.handler.requestPath,
      exposeHeadRoute: false,
      handler: async (request, reply) => {
        const { method, headers, url } = request
        if (!each.isReadable(method, headers["content-type"] ?? "", url.slice(url.indexOf("?") + 1))) {
          return refuseCall(new Refused("UNSUPPORTED_MEDIA_TYPE"), request, reply)
        }
        takeOver(reply)
        try {
          await ((options.calls !== "connect" && fast(request, reply)) || serve(options, each, request, reply))
        } catch (thrown) {
          const isGone = thrown instanceof ConnectError && [Code.Aborted, Code.Canceled].includes(thrown.code)
          if (!isGone) options.onFault(thrown)
          reply.raw.destroy()
        }
      },
    })
  }
  done()
}

async function serve(
  options: RpcPluginOptions,
  { handler, prepared }: ConnectHandler,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const values = options.contextValues?.(request)
  const universal = universalRequestFromNodeRequest(request.raw, reply.raw, undefined, values)
  const response = await handler(prepared(universal, (maxBytes) => readBody(request.raw, maxBytes)))
  await universalResponseToNodeResponse(response, reply.raw)
}

/** From here the response bypasses Fastify. Headers that its hooks set, such as CORS, are kept. */
function takeOver(reply: FastifyReply): void {
  reply.hijack()
  reply.raw.setHeader("cache-control", "no-store")
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value)
  }
}
