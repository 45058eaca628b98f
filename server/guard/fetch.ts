// The guard for platforms with fetch's Request and Response: edge workers, Deno, Bun, Node. Needs only WebCrypto.
import type { AuthContext } from "@signet/kernel/authz/context"
import { checksIn } from "@signet/kernel/authz/requirement"
import { type Reason, Refused } from "@signet/kernel/errors"
import { jsonField } from "./json-field.ts"
import { type MatchPath, pathTemplate } from "./path-template.ts"
import { problemHeaders, problemOf, refusedOf } from "./problem.ts"
import { readText } from "./read-text.ts"
import type { ReadValue } from "./request-values.ts"
import { hasDuplicateNames } from "./strict-json.ts"
import { createDecide, type TargetOptions } from "./target.ts"

export interface FetchGuardOptions extends TargetOptions {
  /** Path template, for requirements that name a path variable: "/notes/{note_id}". Other paths get 404. */
  readonly path?: string
  /** Maximum size of a JSON body that a requirement reads. 65,536 bytes. */
  readonly maxBodyBytes?: number
}

/** The guard's findings about a request. */
interface GuardedCall {
  /** Undefined only for `public`, and for `bodyCredential` without a valid token. */
  readonly caller: AuthContext | undefined
  /** The path's variables as the guard read them. A handler that parses the path itself might read others. */
  readonly path: ReadonlyMap<string, string>
}

/** A handler behind the guard. */
type GuardedHandler<Rest extends readonly unknown[]> = (
  request: Request,
  call: GuardedCall,
  ...rest: Rest
) => Response | Promise<Response>

/**
 * Wraps a handler so that it runs only for callers who meet the requirement. Others get a problem response (RFC 9457)
 * and a challenge (RFC 6750). Exceptions of `findResource` propagate.
 *
 * @param handler Receives the request unread, and all further arguments of the call, such as an environment.
 * @throws Error if the requirement cannot be checked here.
 */
export function guardFetch<Rest extends readonly unknown[]>(
  options: FetchGuardOptions,
  handler: GuardedHandler<Rest>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  const path = options.path === undefined ? undefined : pathTemplate(options.path)
  const decide = createDecide(options, {
    PATH: (field) => path?.names.has(field) === true,
    BODY: (field) => field !== "",
    HEADER: (field) => /^[a-z0-9-]+$/.test(field),
  })
  const maxBodyBytes = options.maxBodyBytes ?? 65_536
  const readsBody = checksIn(options.requirement).some(
    (check) => (check.is === "tenant" || check.is === "resourceAction") && check.from === "BODY",
  )

  return async (request, ...rest) => {
    const values = variablesOf(request, path?.match)
    if (values === undefined) return refuse("METHOD_UNKNOWN")
    const decision = await decide(request.headers.get("authorization"), async (): Promise<ReadValue> => {
      const body = readsBody ? await readJson(request, maxBodyBytes) : undefined
      return (from, field) => {
        if (from === "PATH") return values.get(field)
        if (from === "HEADER") return request.headers.get(field) ?? undefined
        return from === "BODY" ? jsonField(body, field) : undefined
      }
    })
    if (decision.allow) return handler(request, { caller: decision.context, path: values }, ...rest)
    return responseOf(refusedOf(decision))
  }
}

/** Converts a refusal to a Response, for handlers that refuse calls themselves. */
export function responseOf(refused: Refused): Response {
  return new Response(JSON.stringify(problemOf(refused)), {
    status: refused.status,
    headers: problemHeaders(refused),
  })
}

function refuse(reason: Reason): Response {
  return responseOf(new Refused(reason))
}

function variablesOf(request: Request, match: MatchPath | undefined): ReadonlyMap<string, string> | undefined {
  return match === undefined ? new Map() : match(new URL(request.url).pathname)
}

/** Parses the JSON body. Undefined if it is invalid, too long, or repeats a name: no field is trusted then. */
async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  if (!/^application\/(json|connect\+json)\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) return undefined
  try {
    const text = await readText(request.clone().body, maxBytes)
    const value: unknown = JSON.parse(text)
    return hasDuplicateNames(text) ? undefined : value
  } catch {
    return undefined
  }
}
