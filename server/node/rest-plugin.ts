import type { ContextValues } from "@connectrpc/connect"
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify"
import type { RestRequest, RestResponse } from "../serving/rest/http.ts"
import { type RestOptions, restRoutes } from "../serving/rest/rest.ts"
import { goneSignal } from "./gone-signal.ts"
import { readBody } from "./read-body.ts"
import { webHeaders } from "./web-headers.ts"

export interface RestPluginOptions extends RestOptions {
  readonly contextValues?: (request: FastifyRequest) => ContextValues
  /** Aborts the calls that are still running. */
  readonly shutdownSignal?: AbortSignal
}

/** Serves the REST forms of the methods. */
export const restPlugin: FastifyPluginCallback<RestPluginOptions> = (app, options, done) => {
  // Bodies are read after the gate, and by the method's own limit.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  for (const { verb, path, answer } of restRoutes(options)) {
    app.route({
      method: verb,
      url: routerPath(path),
      handler: async (request, reply) => {
        const response = await answer(restRequest(request, reply, options))
        return sendResponse(reply, response)
      },
    })
  }
  done()
}

/** `{name}` as the router takes it; before a custom verb it ends at the colon, which elsewhere is a part of a value. */
export function routerPath(path: string): string {
  return path.replace(/\{(\w+)\}(?::(\w+))?/g, (_, name: string, verb?: string) =>
    verb === undefined ? `:${name}` : `:${name}(^[^/:]+)::${verb}`,
  )
}

function restRequest(request: FastifyRequest, reply: FastifyReply, options: RestPluginOptions): RestRequest {
  const at = request.url.indexOf("?")
  return {
    id: request.id,
    url: `${request.protocol}://${request.host}${request.url}`,
    path: at < 0 ? request.url : request.url.slice(0, at),
    query: at < 0 ? "" : request.url.slice(at + 1),
    header: (name) => headerText(request, name),
    headers: () => webHeaders(request.headers),
    gone: () => goneSignal(reply.raw, options.shutdownSignal),
    values: options.contextValues?.(request),
    readBody: (maxBytes) => readBody(request.raw, maxBytes),
  }
}

function headerText(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name.toLowerCase()]
  return Array.isArray(value) ? value.join(", ") : (value ?? null)
}

/** Sends an answer of REST's as it is; as bytes, since to text Fastify adds a charset that JSON does not have. */
export function sendResponse(reply: FastifyReply, { status, headers, body }: RestResponse): FastifyReply {
  for (const [name, value] of headers) if (name !== "set-cookie") reply.header(name, value)
  for (const cookie of headers.getSetCookie()) reply.header("set-cookie", cookie)
  reply.header("x-content-type-options", "nosniff")
  return status === 204 || status === 304 ? reply.code(status).send() : reply.code(status).send(Buffer.from(body))
}
