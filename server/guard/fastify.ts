// The guard as a Fastify hook. Fastify itself is not needed here: a request and a reply are what they look like.
import { setCaller } from "./caller-of.ts"
import { jsonField } from "./json-field.ts"
import { problemHeaders, problemOf, refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

export { callerOf } from "./caller-of.ts"

/** As much of a FastifyRequest as is used. */
export interface HookRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly params: unknown
  readonly body: unknown
}

/** As much of a FastifyReply as is used. */
export interface HookReply {
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(payload: string): unknown
}

export type GuardHook = (request: HookRequest, reply: HookReply) => Promise<unknown>

const notFastify =
  "guardHook is a Fastify preHandler, but another framework called it: for Express use guardMiddleware of @signet/guard/express, for fetch's Request use guardFetch of @signet/guard/fetch"

/**
 * A preHandler: body and path are parsed by then. A refused call is answered with a problem (RFC 9457) and its handler
 * does not run. A header that was sent twice counts as not sent.
 *
 * @throws when the requirement cannot be checked here.
 */
export function guardHook(options: TargetOptions): GuardHook {
  const decide = createDecide(options, {
    PATH: (field) => field !== "",
    BODY: (field) => field !== "",
    HEADER: (field) => /^[a-z0-9-]+$/.test(field),
  })
  return async (request, reply) => {
    if (typeof reply.code !== "function") throw new TypeError(notFastify)
    const decision = await decide(single(request.headers.authorization) ?? null, () => (from, field) => {
      if (from === "PATH") return jsonField(request.params, field)
      if (from === "HEADER") return single(request.headers[field])
      return from === "BODY" ? jsonField(request.body, field) : undefined
    })
    if (decision.allow) {
      if (decision.context !== undefined) setCaller(request, decision.context)
      return
    }
    const refused = refusedOf(decision)
    reply.code(refused.status)
    reply.headers(problemHeaders(refused))
    reply.send(JSON.stringify(problemOf(refused)))
    return reply
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined
}
