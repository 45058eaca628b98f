// The rights of the signed-in person that the page needs: the scopes of the token, and its app.

import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { App } from "@signet/proto/auth/v1/apps"
import { claimsIn, useService, useSession, useSignet } from "@signet/react/core"
import { createContext, type ReactNode, useContext } from "react"
import { useAsk } from "./ask.ts"
import type { Settings } from "./settings.ts"

export interface Access {
  readonly settings: Settings
  readonly appId: string
  readonly tenantId: string | undefined
  readonly scopes: ReadonlySet<string>
  /** The app of the token; undefined until it is read, or if the person may not read it. */
  readonly app: App | undefined
  /** True for administrators of the installation, who administer every app. */
  readonly isInstallation: boolean
}

const Context = createContext<Access | undefined>(undefined)

export function useAccess(): Access {
  const access = useContext(Context)
  if (access === undefined) throw new Error("a screen needs <AccessProvider> around it")
  return access
}

interface ProviderProps {
  readonly settings: Settings
  readonly appId: string
  readonly children: ReactNode
}

export function AccessProvider({ settings, appId, children }: ProviderProps): ReactNode {
  const { session } = useSignet()
  const state = useSession()
  const sessionId = state.is === "signedIn" ? state.user.sessionId : ""
  const tenantId = state.is === "signedIn" ? state.user.tenantId : undefined
  const admin = useService(AppAuthService)
  const scopes = useAsk(["scopes", sessionId], async () => claimsIn(await session.accessToken()).scopes)
  const canRead = scopes.data?.has("auth.apps.read") === true
  const app = useAsk(["app", appId, sessionId, canRead], async (signal) => {
    if (!canRead) return null
    return (await admin.getApp({ appId }, { signal })).app ?? null
  })
  const access: Access = {
    ...{ settings, appId, tenantId },
    scopes: scopes.data ?? new Set(),
    app: app.data ?? undefined,
    isInstallation: app.data?.installation === true && tenantId === undefined,
  }
  if (scopes.data === undefined && scopes.isPending) return null
  return <Context value={access}>{children}</Context>
}
