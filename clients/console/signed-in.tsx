import type { SignedInUser } from "@signet/client-web"
import type { ReactNode } from "react"
import { AccessProvider } from "./access.tsx"
import type { Settings } from "./settings.ts"
import { Shell } from "./shell.tsx"

interface SignedInProps {
  readonly settings: Settings
  readonly appId: string
  readonly user: SignedInUser
}

export function SignedIn(props: SignedInProps): ReactNode {
  return (
    <AccessProvider {...props}>
      <Shell />
    </AccessProvider>
  )
}
