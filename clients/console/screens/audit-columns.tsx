import { type AuditEvent, AuditEvent_Outcome as Outcome } from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import { enumName, Status, Time } from "@signet/react/core"
import { Named, type NameOf, useNames } from "../names.tsx"
import type { Column } from "../page.tsx"
import { Link } from "../router.tsx"
import { t } from "../text/screens.ts"

const isDenial = ({ outcome }: AuditEvent) => outcome === Outcome.DENIED

/** The columns of a list of audit events, with the names of the app's objects. */
export function useEventColumns(events: readonly AuditEvent[], appId: string): readonly Column<AuditEvent>[] {
  const ids = events.flatMap(({ actorPrincipalId, target }) => [actorPrincipalId, target?.id ?? ""])
  return columnsOf(useNames(appId, ids))
}

const columnsOf = (nameOf: NameOf): readonly Column<AuditEvent>[] => [
  { head: t.audit.when, cell: ({ occurredAt }) => <Time at={occurredAt} /> },
  {
    head: t.audit.event,
    cell: ({ kind, request }) => (
      <>
        <span className="strong">{kind}</span>
        <span className="signet-id">{shortRoute(request?.route ?? "")}</span>
      </>
    ),
  },
  {
    head: t.audit.outcome,
    cell: ({ outcome, reason }) => (
      <>
        <Status name={enumName(Outcome, outcome)} />
        {reason !== Reason.REASON_UNSPECIFIED && <span className="signet-id">{enumName(Reason, reason)}</span>}
      </>
    ),
  },
  {
    head: t.audit.actor,
    cell: ({ actorPrincipalId: id }) =>
      id === "" ? (
        <span className="signet-muted">{t.audit.noActor}</span>
      ) : (
        <Named {...{ id, nameOf }} to={`/people/${id}`} shown={short(id)} />
      ),
  },
  {
    head: t.audit.target,
    cell: ({ target }) =>
      target && (
        <>
          {target.type} <Named {...{ id: target.id, nameOf }} shown={short(target.id)} />
        </>
      ),
  },
  { head: "", cell: (event) => isDenial(event) && <Link to={`/why?event=${event.id}`}>{t.audit.why}</Link> },
]

/** An id's prefix and end, which differ; its middle is the time. */
const short = (id: string): string => (id.length > 20 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id)

/** `signet.auth.v1.AppAuthService/ListApps` without its package. */
const shortRoute = (route: string): string => route.split(".").at(-1) ?? route
