// The guard as Express middleware. It imports neither Express nor Node; requests and responses are typed structurally.
import { setCaller } from "./caller-of.ts"
import { jsonField } from "./json-field.ts"
import { problemHeaders, problemOf, refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

export { callerOf } from "./caller-of.ts"

/** The members of an Express request that the guard uses. */
interface MiddlewareRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly params?: unknown
  readonly body?: unknown
}

/** The members of a ServerResponse that the guard uses. */
interface MiddlewareResponse {
  writeHead(status: number, headers: Record<string, string>): unknown
  end(text: string): unknown
}

type GuardMiddleware = (
  request: MiddlewareRequest,
  response: MiddlewareResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * Creates middleware for one route: `app.get("/notes/:note_id", guardMiddleware({ guard, requirement }), handler)`.
 * Path variables are available only in a route's middleware, and a body only after its parser.
 *
 * A refused call gets a problem response (RFC 9457), and `next` is not called. A repeated header counts as missing.
 * Exceptions of `findResource` go to `next`.
 *
 * @throws Error if the requirement cannot be checked here.
 */
export function guardMiddleware(options: TargetOptions): GuardMiddleware {
  const decide = createDecide(options, {
    PATH: (field) => field !== "",
    BODY: (field) => field !== "",
    HEADER: (field) => /^[a-z0-9-]+$/.test(field),
  })
  return async (request, response, next) => {
    try {
      const decision = await decide(single(request.headers.authorization) ?? null, () => (from, field) => {
        if (from === "PATH") return jsonField(request.params, field)
        if (from === "HEADER") return single(request.headers[field])
        return from === "BODY" ? jsonField(request.body, field) : undefined
      })
      if (!decision.allow) {
        const refused = refusedOf(decision)
        response.writeHead(refused.status, problemHeaders(refused))
        response.end(JSON.stringify(problemOf(refused)))
        return
      }
      if (decision.context !== undefined) setCaller(request, decision.context)
    } catch (error) {
      return next(error)
    }
    next()
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined
}
