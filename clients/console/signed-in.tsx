import type { ReactNode } from "react"
import { AccessProvider } from "./access.tsx"
import type { Settings } from "./settings.ts"
import { Shell } from "./shell.tsx"

export function SignedIn({ settings, appId }: { settings: Settings; appId: string }): ReactNode {
  return (
    <AccessProvider settings={settings} appId={appId}>
      <Shell />
    </AccessProvider>
  )
}
