import { timestampFromDate } from "@bufbuild/protobuf/wkt"
import { AuditService, AuditEvent_Outcome as Outcome } from "@signet/proto/auth/v1/audit_service"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { useList } from "../ask.ts"
import { Choice, Field, List, Page, words } from "../page.tsx"
import { navigate, useRoute } from "../router.tsx"
import { t } from "../text/screens.ts"
import { useEventColumns } from "./audit-columns.tsx"
import { VerifyChain } from "./verify-chain.tsx"

const names = ["outcome", "kinds", "principal", "target", "tenant", "app", "from", "until"] as const
type Filters = Readonly<Record<(typeof names)[number], string>>

/** The events that the token's scope reaches, newest first, with filters in the address. */
export function Audit(): ReactNode {
  const { query } = useRoute()
  const filters = filtersOf(query)
  const request = { ...requestOf(filters), pageSize: 50 }
  const list = useList(AuditService.method.listAuditEvents, request, ({ auditEvents }) => auditEvents)
  const { appId } = useAccess()
  const columns = useEventColumns(list.items, filters.app || appId)
  return (
    <Page title={t.audit.title} about={t.audit.about}>
      <FilterForm key={JSON.stringify(filters)} filters={filters} />
      <VerifyChain appId={filters.app} tenantId={filters.tenant} />
      <List list={list} columns={columns} keyOf={({ id }) => id} none={t.audit.none} label={t.audit.title} />
    </Page>
  )
}

/** The filters of an address, without instants that are none. */
function filtersOf(query: URLSearchParams): Filters {
  const asked = names.map((name) => [name, query.get(name) ?? ""] as const)
  const valid = asked.map(([name, text]) => [name, isInstant(name) && Number.isNaN(Date.parse(text)) ? "" : text])
  return Object.fromEntries(valid) as Filters
}
const isInstant = (name: (typeof names)[number]): boolean => name === "from" || name === "until"

function requestOf({ outcome, kinds, principal, target, tenant, app, from, until }: Filters) {
  return {
    ...{ appId: app, tenantId: tenant, principalId: principal, targetId: target, kinds: words(kinds) },
    outcome: isOutcome(outcome) ? Outcome[outcome] : Outcome.OUTCOME_UNSPECIFIED,
    ...(from !== "" && { startTime: timestampFromDate(new Date(from)) }),
    ...(until !== "" && { endTime: timestampFromDate(new Date(until)) }),
  }
}

const isOutcome = (name: string): name is keyof typeof Outcome =>
  typeof Outcome[name as keyof typeof Outcome] === "number"

function FilterForm({ filters }: { filters: Filters }): ReactNode {
  const { isInstallation } = useAccess()
  const [edited, setEdited] = useState(filters)
  const set = (name: keyof Filters) => (value: string) => setEdited({ ...edited, [name]: value })
  const isNarrow = names.some((name) => filters[name] !== "")
  return (
    <form
      className="bar"
      onSubmit={(event) => {
        event.preventDefault()
        const query = new URLSearchParams(Object.entries(edited).filter(([, value]) => value !== ""))
        navigate(`/audit?${query}`)
      }}
    >
      <Choice
        label={t.audit.outcome}
        value={edited.outcome}
        onChange={set("outcome")}
        of={[
          ["", t.audit.any],
          ["SUCCESS", t.audit.success],
          ["FAILURE", t.audit.failure],
          ["DENIED", t.audit.denied],
        ]}
      />
      <Field label={t.audit.kinds} value={edited.kinds} onChange={set("kinds")} placeholder="grant.created" />
      <Field label={t.audit.principal} value={edited.principal} onChange={set("principal")} placeholder="prn_…" />
      <Field label={t.audit.targetId} value={edited.target} onChange={set("target")} />
      <Field label={t.audit.tenant} value={edited.tenant} onChange={set("tenant")} placeholder="ten_…" />
      {isInstallation && <Field label={t.audit.app} value={edited.app} onChange={set("app")} placeholder="app_…" />}
      <Field label={t.audit.from} type="datetime-local" value={edited.from} onChange={set("from")} />
      <Field label={t.audit.until} type="datetime-local" value={edited.until} onChange={set("until")} />
      <div className="bar-actions">
        <button type="submit" className="signet-button signet-primary">
          {t.audit.filter}
        </button>
        {isNarrow && (
          <button type="button" className="signet-button" onClick={() => navigate("/audit")}>
            {t.audit.clear}
          </button>
        )}
      </div>
    </form>
  )
}
