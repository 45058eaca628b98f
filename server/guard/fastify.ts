// The guard as a Fastify hook. It does not import Fastify; requests and replies are typed structurally.
import { setCaller } from "./caller-of.ts"
import { jsonField } from "./json-field.ts"
import { problemHeaders, problemOf, refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

export { callerOf } from "./caller-of.ts"

/** The members of a FastifyRequest that the guard uses. */
interface HookRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly params: unknown
  readonly body: unknown
}

/** The members of a FastifyReply that the guard uses. */
interface HookReply {
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(payload: string): unknown
}

type GuardHook = (request: HookRequest, reply: HookReply) => Promise<unknown>

const notFastify =
  "guardHook is a Fastify preHandler, but another framework called it: for Express use guardMiddleware of @signet/guard/express, for fetch's Request use guardFetch of @signet/guard/fetch"

/**
 * Creates a preHandler, which runs after body and path are parsed. A refused call gets a problem response (RFC 9457),
 * and its handler does not run. A repeated header counts as missing.
 *
 * @throws Error if the requirement cannot be checked here.
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
