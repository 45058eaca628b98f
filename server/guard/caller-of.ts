// Who is calling, on the request object itself, for frameworks whose requests are objects of their own.
import type { AuthContext } from "@signet/kernel/authz/context"

/** Of the registry: a process that loads this as an ES module and by `require` has two copies of it, and one symbol. */
const key = Symbol.for("signet.guard.caller")

export function setCaller(request: object, caller: AuthContext): void {
  Object.defineProperty(request, key, { value: caller, configurable: true })
}

/** Who is calling, in a handler behind the guard; undefined in public routes. */
export function callerOf(request: { readonly [key]?: AuthContext } & object): AuthContext | undefined {
  return request[key]
}
