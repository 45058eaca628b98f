import type { ContextValues } from "@connectrpc/connect"
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from "fastify"
import type { RestRequest, RestResponse } from "../serving/rest/http.ts"
import { type RestOptions, restRoutes } from "../serving/rest/rest.ts"
import { goneSignal } from "./gone-signal.ts"
import { readBody } from "./read-body.ts"
import { webHeaders } from "./web-headers.ts"

interface RestPluginOptions extends RestOptions {
  readonly contextValues?: (request: FastifyRequest) => ContextValues
  /** Aborts calls that are still running. */
  readonly shutdownSignal?: AbortSignal
}

/** Serves the REST mappings of the methods. */
export const restPlugin: FastifyPluginCallback<RestPluginOptions> = (app, options, done) => {
  // Bodies are read after the gate, with the method's own limit.
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

/**
 * Converts `{name}` to the router's syntax. Before a custom verb the value ends at the colon; elsewhere a colon is part
 * of the value.
 */
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

/** Sends a REST response unchanged. As bytes, because Fastify adds a charset to text, which JSON does not have. */
export function sendResponse(reply: FastifyReply, { status, headers, body }: RestResponse): FastifyReply {
  for (const [name, value] of headers) if (name !== "set-cookie") reply.header(name, value)
  for (const cookie of headers.getSetCookie()) reply.header("set-cookie", cookie)
  reply.header("x-content-type-options", "nosniff")
  return status === 204 || status === 304 ? reply.code(status).send() : reply.code(status).send(Buffer.from(body))
}
