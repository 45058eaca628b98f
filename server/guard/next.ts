// The guard for Next.js: routes, server actions and middleware, which have fetch's Headers, Request and Response.
import type { AuthContext } from "@signet/kernel/authz/context"
import { responseOf } from "./fetch.ts"
import { refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

/** Either the caller, or the response that refuses the call. */
type Auth =
  | { readonly caller: AuthContext | undefined; readonly refused?: undefined }
  | { readonly caller?: undefined; readonly refused: Response }

export interface NextGuard {
  /**
   * Decides about a call in a route, a server component or a server action.
   *
   * @param source The request, or what `headers()` of Next returns.
   * @returns The caller, undefined only for `public`; or a problem response (RFC 9457) to return from a route.
   */
  auth(source: Request | Headers): Promise<Auth>
  /**
   * For `middleware.ts`, whose `config.matcher` selects the paths. A route behind it still calls `auth`: a matcher can
   * miss a path, and the middleware passes no caller on.
   *
   * @returns Undefined to continue, or the response that refuses the call.
   */
  middleware(request: Request): Promise<Response | undefined>
}

/**
 * Creates the helpers for one requirement. It may name values of headers; a requirement on a path or a body needs
 * `guardFetch`, which reads them.
 *
 * @throws Error if the requirement cannot be checked here.
 */
export function guardNext(options: TargetOptions): NextGuard {
  const decide = createDecide(options, { HEADER: (field) => /^[a-z0-9-]+$/.test(field) })
  const auth = async (source: Request | Headers): Promise<Auth> => {
    const headers = "headers" in source ? source.headers : source
    const read = (from: string, field: string) => (from === "HEADER" ? (headers.get(field) ?? undefined) : undefined)
    const decision = await decide(headers.get("authorization"), () => read)
    return decision.allow ? { caller: decision.context } : { refused: responseOf(refusedOf(decision)) }
  }
  return { auth, middleware: async (request) => (await auth(request)).refused }
}
