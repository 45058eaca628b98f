import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Failed, Loading, useService } from "@signet/react/core"
import { Members } from "@signet/react/members"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { useAsk } from "../../ask.ts"
import { Id, Page } from "../../page.tsx"
import { Link, useRoute } from "../../router.tsx"
import { t } from "../../text/screens.ts"
import { Grants } from "../grants/grants.tsx"
import { AppSettings } from "./app-settings.tsx"
import { Connections } from "./connections.tsx"
import { Invitations } from "./invitations.tsx"
import { Contexts, Tenants } from "./places.tsx"
import { Permissions, Roles } from "./roles.tsx"

const tabs: readonly (readonly [path: string, name: string, scope: string])[] = [
  ["settings", t.app.tabs.settings, "auth.apps.read"],
  ["connections", t.app.tabs.connections, "auth.apps.read"],
  ["tenants", t.app.tabs.tenants, "auth.tenants.read"],
  ["contexts", t.app.tabs.contexts, "auth.tenants.read"],
  ["members", t.app.tabs.members, "auth.members.read"],
  ["invitations", t.app.tabs.invitations, "auth.members.read"],
  ["roles", t.app.tabs.roles, "auth.roles.read"],
  ["permissions", t.app.tabs.permissions, "auth.roles.read"],
  ["grants", t.app.tabs.grants, "auth.grants.read"],
]

/** One app, with everything in it. */
export function AppScreen(): ReactNode {
  const { parts } = useRoute()
  const [, appId = "", tab = "settings", inner] = parts
  const { scopes } = useAccess()
  const admin = useService(AppAuthService)
  const { data, error, refetch } = useAsk(
    ["app", appId],
    async (signal) => (await admin.getApp({ appId }, { signal })).app,
  )
  if (error) return <Failed error={error} retry={() => void refetch()} />
  if (data === undefined) return <Loading />
  return (
    <Page title={data.name || appId} about={<Id of={appId} />} under={{ to: "/apps", name: t.apps.title }}>
      <nav className="tabs" aria-label={t.app.sections}>
        {tabs
          .filter(([, , scope]) => scopes.has(scope))
          .map(([path, name]) => (
            <Link key={path} to={`/apps/${appId}/${path}`} isCurrent={path === tab}>
              {name}
            </Link>
          ))}
      </nav>
      {tab === "settings" && <AppSettings app={data} />}
      {tab === "connections" && <Connections appId={appId} />}
      {tab === "tenants" && <Tenants appId={appId} />}
      {tab === "contexts" && <Contexts appId={appId} tenantId={inner ?? ""} />}
      {tab === "members" && (
        <Members
          appId={appId}
          tenantId={inner ?? ""}
          linkTo={({ principalId, profile }) => (
            <Link to={`/people/${principalId}`}>{profile?.name || profile?.email || principalId}</Link>
          )}
        />
      )}
      {tab === "invitations" && <Invitations appId={appId} />}
      {tab === "roles" && <Roles appId={appId} />}
      {tab === "permissions" && <Permissions appId={appId} />}
      {tab === "grants" && <Grants appId={appId} />}
    </Page>
  )
}
