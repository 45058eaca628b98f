import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import type { App } from "@signet/proto/auth/v1/apps"
import { Failed, Loading } from "@signet/react/core"
import { Members } from "@signet/react/members"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { skipToken, useMethod } from "../../ask.ts"
import { useNames } from "../../names.tsx"
import { appParts, isAppPart, refusalOf, usableParts } from "../../offer.ts"
import { Id, Page } from "../../page.tsx"
import { Refused } from "../../refused.tsx"
import { Link, useRoute } from "../../router.tsx"
import { t } from "../../text/screens.ts"
import { Grants } from "../grants/grants.tsx"
import { AppSettings } from "./app-settings.tsx"
import { Connections } from "./connections.tsx"
import { EditMember } from "./edit-member.tsx"
import { Invitations } from "./invitations.tsx"
import { Contexts, Tenants } from "./places.tsx"
import { Permissions, Roles } from "./roles.tsx"

/** One app, or the tenant or context of the token, with everything in it. */
export function AppScreen(): ReactNode {
  const { parts } = useRoute()
  const [, appId = "", asked] = parts
  const access = useAccess()
  const usable = usableParts(access)
  const part = asked ?? usable[0] ?? "settings"
  const refusal = isAppPart(part) ? refusalOf(appParts[part], access) : undefined
  const readsApp = access.reaches("app") && access.scopes.has("auth.apps.read")
  const app = useMethod(AppAuthService.method.getApp, readsApp ? { appId } : skipToken)
  if (app.error) return <Failed error={app.error} retry={() => void app.refetch()} />
  if (app.isLoading) return <Loading />
  const { placeName, tenantId, contextId } = access
  const name = app.data?.app?.name ?? placeName ?? contextId ?? tenantId
  return (
    <Page
      title={name || appId}
      about={<Id of={contextId ?? tenantId ?? appId} />}
      {...(readsApp && { under: { to: "/apps", name: t.apps.title } })}
    >
      <nav className="tabs" aria-label={t.app.sections}>
        {usable.map((path) => (
          <Link key={path} to={`/apps/${appId}/${path}`} isCurrent={path === part}>
            {t.app.tabs[path]}
          </Link>
        ))}
      </nav>
      {refusal ? <Refused why={refusal} /> : <Part appId={appId} part={part} app={app.data?.app} inner={parts[3]} />}
    </Page>
  )
}

interface PartProps {
  readonly appId: string
  readonly part: string
  readonly app: App | undefined
  /** The tenant to which the address narrows contexts and members, or the role to which it narrows grants. */
  readonly inner: string | undefined
}

function Part({ appId, part, app, inner }: PartProps): ReactNode {
  const { tenantId: own, contextId } = useAccess()
  const tenantId = inner ?? own ?? ""
  switch (part) {
    case "settings":
      return app && <AppSettings app={app} />
    case "connections":
      return <Connections appId={appId} />
    case "tenants":
      return <Tenants appId={appId} />
    case "contexts":
      return <Contexts appId={appId} tenantId={tenantId} />
    case "members":
      return (
        <Members
          {...{ appId, tenantId }}
          {...(contextId !== undefined && { contextId })}
          usePlaceNames={useNames}
          actions={(membership, reload) => <EditMember {...{ membership, reload }} />}
          linkTo={({ principalId, profile }) => (
            <Link to={`/people/${principalId}`}>{profile?.name || profile?.email || principalId}</Link>
          )}
        />
      )
    case "invitations":
      return <Invitations appId={appId} />
    case "roles":
      return <Roles appId={appId} />
    case "permissions":
      return <Permissions appId={appId} />
    case "grants":
      return <Grants appId={appId} roleId={inner ?? ""} />
    default:
      return <p className="empty">{t.nowhere.about}</p>
  }
}
