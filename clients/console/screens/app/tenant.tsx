import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { PlaceStatus } from "@signet/proto/auth/v1/apps"
import { AuditService } from "@signet/proto/auth/v1/audit_service"
import { enumName, Failed, Loading, Status, Time, useService } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { useAsk } from "../../ask.ts"
import { Card, Facts, Id, Page } from "../../page.tsx"
import { Link, useRoute } from "../../router.tsx"
import { t } from "../../text/screens.ts"
import { TenantActions } from "./places.tsx"

/** One tenant, from its id alone. */
export function TenantScreen(): ReactNode {
  const { parts } = useRoute()
  const tenantId = parts[1] ?? ""
  const admin = useService(AppAuthService)
  const audit = useService(AuditService)
  const { appId: ownApp, tenantId: own, isInstallation, scopes } = useAccess()
  const { data, error, refetch } = useAsk(["tenants", ownApp, "one", tenantId], async (signal) => {
    // There the tenant can be of any app. The events of its own changes name it.
    const { auditEvents } =
      isInstallation && scopes.has("auth.audit.read")
        ? await audit.listAuditEvents({ targetId: tenantId, pageSize: 1 }, { signal })
        : { auditEvents: [] }
    const appId = auditEvents[0]?.appId || ownApp
    return (await admin.getTenant({ appId, tenantId }, { signal })).tenant ?? null
  })
  if (error) return <Failed error={error} retry={() => void refetch()} />
  if (!data) return <Loading />
  const { appId, name, status, createdAt } = data
  const at = (part: string) => `/apps/${appId}/${part}/${tenantId}`
  return (
    <Page
      title={name || tenantId}
      about={<Id of={tenantId} />}
      under={{ to: `/apps/${appId}/tenants`, name: t.app.tabs.tenants }}
    >
      <Card
        title={t.tenant.id}
        actions={
          scopes.has("auth.tenants.write") && (
            <span className="buttons">
              <TenantActions tenant={data} isOwn={tenantId === own} />
            </span>
          )
        }
      >
        <Facts
          of={[
            [t.app.status, <Status key="status" name={enumName(PlaceStatus, status)} />],
            [t.app.since, <Time key="since" at={createdAt} />],
            [t.app.id, <Id key="app" of={appId} />],
          ]}
        />
        <ul className="rows">
          {scopes.has("auth.members.read") && (
            <li>
              <Link to={at("members")}>{t.app.tabs.members}</Link>
            </li>
          )}
          <li>
            <Link to={at("contexts")}>{t.app.tabs.contexts}</Link>
          </li>
          {scopes.has("auth.audit.read") && (
            <li>
              <Link to={`/audit?tenant=${tenantId}${isInstallation ? `&app=${appId}` : ""}`}>{t.audit.title}</Link>
            </li>
          )}
        </ul>
      </Card>
    </Page>
  )
}
