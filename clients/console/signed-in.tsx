// Everything after the sign-in, with the cache of what was read: the first page loads neither.

import { TransportProvider } from "@connectrpc/connect-query"
import type { SignedInUser } from "@signet/client-web"
import { useSignet } from "@signet/react/core"
import { QueryClientProvider } from "@tanstack/react-query"
import { type ReactNode, useEffect, useMemo } from "react"
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
  const { session } = useSignet()
  const transport = useMemo(() => session.transport(), [session])
  // The next person must not see data that another one has read.
  useEffect(() => () => queries.clear(), [])
  return (
    <QueryClientProvider client={queries}>
      <TransportProvider transport={transport}>
        <AccessProvider {...props}>
          <Shell />
        </AccessProvider>
      </TransportProvider>
    </QueryClientProvider>
  )
}
