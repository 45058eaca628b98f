import type { SessionState } from "@signet/client-web"
import { useSyncExternalStore } from "react"
import { useSignet } from "./provider.tsx"

/** Returns the state of the sign-in, and renders again at every change, also of another tab. */
export function useSession(): SessionState {
  const { session } = useSignet()
  return useSyncExternalStore(
    (changed) => session.subscribe(changed),
    () => session.current,
    () => session.current,
  )
}
