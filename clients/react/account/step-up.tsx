import { failureOf } from "@signet/client-web"
import type { ReactNode } from "react"
import { SignIn } from "../sign-in.tsx"
import { useSession } from "../use-session.ts"

/** After an action that needs a recent sign-in: a sign-in at which the provider asks the person again. */
export function StepUp({ error }: { error: unknown }): ReactNode {
  const state = useSession()
  if (failureOf(error)?.reason !== "STEP_UP_REQUIRED" || state.is !== "signedIn") return null
  const { tenantId, contextId } = state.user
  return <SignIn maxAgeSeconds={0} {...(tenantId && { tenantId })} {...(contextId && { contextId })} />
}
