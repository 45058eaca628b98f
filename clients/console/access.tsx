// The rights of the signed-in person that the page needs: the scopes of the token, and the place that it administers.

import type { SignedInUser } from "@signet/client-web"
import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { App } from "@signet/proto/auth/v1/apps"
import { claimsIn, Loading, useService, useSignet } from "@signet/react/core"
import { createContext, type ReactNode, useContext, useEffect } from "react"
import { skipToken, useAsk, useMethod } from "./ask.ts"
import { type Settings, writePlace } from "./settings.ts"

/** The levels that a token administers, from the narrowest. */
const levels = ["context", "tenant", "app", "installation"] as const
export type Level = (typeof levels)[number]

export interface Access {
  readonly settings: Settings
  readonly appId: string
  readonly tenantId: string | undefined
  readonly contextId: string | undefined
  readonly scopes: ReadonlySet<string>
  /** The app of the token; undefined until it is read, or if the token is of a tenant or has no scope for it. */
  readonly app: App | undefined
  /** The name of the token's context or tenant, under the same conditions. */
  readonly placeName: string | undefined
  readonly level: Level
  /** True for administrators of the installation, who administer every app. */
  readonly isInstallation: boolean
  /** True if the token administers a place that is as wide as this one. */
  reaches(level: Level): boolean
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
  readonly user: SignedInUser
  readonly children: ReactNode
}

export function AccessProvider({ settings, appId, user, children }: ProviderProps): ReactNode {
  const { session } = useSignet()
  const { sessionId, tenantId, contextId } = user
  const admin = useService(AppAuthService)
  const scopes = useAsk(["scopes", sessionId], async () => claimsIn(await session.accessToken()).scopes)
  const isWholeApp = tenantId === undefined && contextId === undefined
  // A token of a tenant does not reach the app, and one of a context does not reach the tenant: the calls would be denied.
  const readsApp = isWholeApp && scopes.data?.has("auth.apps.read") === true
  const app = useMethod(AppAuthService.method.getApp, readsApp ? { appId } : skipToken)
  const readsPlace = !isWholeApp && scopes.data?.has("auth.tenants.read") === true
  const placeName = useAsk(["place", appId, sessionId, readsPlace], async (signal) => {
    if (!readsPlace) return null
    const { context } = contextId === undefined ? {} : await admin.getContext({ appId, contextId }, { signal })
    const { tenant } = context || tenantId === undefined ? {} : await admin.getTenant({ appId, tenantId }, { signal })
    return (context ?? tenant)?.name ?? null
  })
  // The next sign-in in this browser begins at the same place.
  useEffect(() => writePlace({ tenantId, contextId }), [tenantId, contextId])
  const isInstallation = isWholeApp && app.data?.app?.installation === true
  const level = levelOf(isInstallation, tenantId, contextId)
  const access: Access = {
    ...{ settings, appId, tenantId, contextId, level, isInstallation },
    scopes: scopes.data ?? new Set(),
    app: app.data?.app,
    placeName: placeName.data ?? undefined,
    reaches: (wanted) => levels.indexOf(level) >= levels.indexOf(wanted),
  }
  // Until then a screen for administrators of the installation would be refused to them.
  if (scopes.isPending || app.isLoading) return <Loading />
  return <Context value={access}>{children}</Context>
}

function levelOf(isInstallation: boolean, tenantId: string | undefined, contextId: string | undefined): Level {
  if (contextId !== undefined) return "context"
  if (tenantId !== undefined) return "tenant"
  return isInstallation ? "installation" : "app"
}
