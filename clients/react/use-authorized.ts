import { useEffect, useState } from "react"
import { useSignet } from "./provider.tsx"
import { claimsIn } from "./token-claims.ts"
import { useSession } from "./use-session.ts"

export interface Wanted {
  /** Every one of these scopes. */
  readonly scopes: readonly string[]
  /** The audience whose token should have them. Default: the auth service's own. */
  readonly audience?: string
}

export type Authorized = "unknown" | "yes" | "no"

/**
 * Says whether the user's token has all of these scopes, so that a page can leave out what would be refused. It protects
 * nothing: the service decides at every call.
 */
export function useAuthorized({ scopes, audience }: Wanted): Authorized {
  const { session } = useSignet()
  const state = useSession()
  const [held, setHeld] = useState<ReadonlySet<string> | undefined>()
  useEffect(() => {
    let isCurrent = true
    setHeld(undefined)
    if (state.is !== "signedIn") return
    session.accessToken(audience).then(
      (token) => isCurrent && setHeld(claimsIn(token).scopes),
      () => isCurrent && setHeld(new Set()),
    )
    return () => {
      isCurrent = false
    }
  }, [session, state, audience])
  if (state.is === "loggedOut") return "no"
  if (held === undefined) return "unknown"
  return scopes.every((scope) => held.has(scope)) ? "yes" : "no"
}
