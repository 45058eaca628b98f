// Everything after the sign-in, with the cache of what was read: the first page loads neither.
import type { SignedInUser } from "@signet/client-web"
import { QueryClientProvider } from "@tanstack/react-query"
import { type ReactNode, useEffect } from "react"
import { AccessProvider } from "./access.tsx"
import { queries } from "./queries.ts"
import type { Settings } from "./settings.ts"
import { Shell } from "./shell.tsx"

interface SignedInProps {
  readonly settings: Settings
  readonly appId: string
  readonly user: SignedInUser
}

export function SignedIn(props: SignedInProps): ReactNode {
  // The next person must not see data that another one has read.
  useEffect(() => () => queries.clear(), [])
  return (
    <QueryClientProvider client={queries}>
      <AccessProvider {...props}>
        <Shell />
      </AccessProvider>
    </QueryClientProvider>
  )
}
