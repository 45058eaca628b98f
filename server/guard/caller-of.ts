// Stores the caller on the request object, for frameworks with their own request objects.
import type { AuthContext } from "@signet/kernel/authz/context"

/** A registered symbol: a process that loads this module both by `import` and by `require` has two copies of it. */
const key = Symbol.for("signet.guard.caller")

export function setCaller(request: object, caller: AuthContext): void {
  Object.defineProperty(request, key, { value: caller, configurable: true })
}

/** Returns the caller in a handler behind the guard; undefined in public routes. */
export function callerOf(request: { readonly [key]?: AuthContext } & object): AuthContext | undefined {
  return request[key]
}
