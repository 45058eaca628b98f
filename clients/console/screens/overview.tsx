import { AuditService, AuditEvent_Outcome as Outcome } from "@signet/proto/auth/v1/audit_service"
import type { ReactNode } from "react"
import { useAccess } from "../access.tsx"
import { useList } from "../ask.ts"
import { Card, Facts, Id, List, Page } from "../page.tsx"
import { Link } from "../router.tsx"
import { t } from "../text/screens.ts"
import { useEventColumns } from "./audit-columns.tsx"
import { OtherPlaces } from "./other-places.tsx"

/** The place that the person administers, and the newest denials. */
export function Overview(): ReactNode {
  const { app, appId, placeName, tenantId, contextId, scopes, level } = useAccess()
  const isAdministrator = [...scopes].some((scope) => /^auth\.(apps|members|audit|roles)\./.test(scope))
  return (
    <Page title={t.overview.title} about={t.overview.about[level]}>
      {!isAdministrator && <p className="notice">{t.overview.noScopes}</p>}
      <Card title={placeName ?? app?.name ?? t.nav.here[level]}>
        <Facts
          of={[
            [t.app.id, <Id key="id" of={appId} />],
            [t.tenant.id, tenantId === undefined ? t.overview.wholeApp : <Id key="tenant" of={tenantId} />],
            ...(contextId === undefined ? [] : [[t.grant.context, <Id key="context" of={contextId} />] as const]),
            [t.app.audiences, app?.audiences.join(", ") ?? ""],
            [t.overview.yourScopes, String(scopes.size)],
          ]}
        />
      </Card>
      <OtherPlaces />
      {scopes.has("auth.audit.read") && <Denials />}
    </Page>
  )
}

function Denials(): ReactNode {
  const request = { outcome: Outcome.DENIED, pageSize: 6 }
  const list = useList(AuditService.method.listAuditEvents, request, ({ auditEvents }) => auditEvents)
  const { appId } = useAccess()
  const columns = useEventColumns(list.items, appId)
  return (
    <Card title={t.overview.denials} actions={<Link to="/audit?outcome=DENIED">{t.overview.allDenials}</Link>}>
      <List
        // The link above leads to more.
        list={{ ...list, hasMore: false }}
        columns={columns}
        keyOf={({ id }) => id}
        none={t.overview.noDenials}
        label={t.overview.denials}
      />
    </Card>
  )
}
