import { type AuditEvent, AuditService } from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import { enumName, Failed, Loading, Time, useService } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAsk } from "../ask.ts"
import { Card, Facts, Id, Page } from "../page.tsx"
import { Link, useRoute } from "../router.tsx"
import { t } from "../text/why.ts"
import { ExplainToken } from "./explain-token.tsx"
import { requirementText } from "./requirement-text.ts"
import { factsOfDecision, factsOfDenial } from "./step-facts.ts"
import { Steps, stepOf } from "./steps.tsx"

/** Why a call was denied: from an event of the audit, or for a token that is pasted. */
export function Why(): ReactNode {
  const { query } = useRoute()
  const eventId = query.get("event") ?? ""
  return (
    <Page title={t.why.title} about={t.why.about}>
      {eventId !== "" && <Denial eventId={eventId} />}
      <ExplainToken />
    </Page>
  )
}

function Denial({ eventId }: { eventId: string }): ReactNode {
  const audit = useService(AuditService)
  const { data, error, isPending, refetch } = useAsk(["audit", "event", eventId], async (signal) => {
    const { auditEvents } = await audit.listAuditEvents({ targetId: eventId }, { signal })
    const event = auditEvents.find(({ id }) => id === eventId)
    if (event === undefined) return null
    return { event, requirement: await requirementText(event.request?.route ?? "", signal) }
  })
  if (isPending) return <Loading />
  if (error) return <Failed error={error} retry={() => void refetch()} />
  if (data === null) return <p className="empty">{t.why.noEvent}</p>
  return <Explained event={data.event} requirement={data.requirement} />
}

function Explained({ event, requirement }: { event: AuditEvent; requirement: string }): ReactNode {
  const reason = enumName(Reason, event.reason)
  return (
    <>
      <Card title={t.why.call}>
        <Facts
          of={[
            [t.audit.when, <Time key="when" at={event.occurredAt} />],
            [t.why.method, event.request?.route.split(".").at(-1)],
            [t.why.requires, event.denial?.requirement ?? requirement],
            [
              t.audit.actor,
              event.actorPrincipalId && (
                <Link key="actor" to={`/people/${event.actorPrincipalId}`}>
                  {event.actorPrincipalId}
                </Link>
              ),
            ],
            [t.why.network, event.request?.ipTruncated],
            [t.why.request, event.request && <Id key="request" of={event.request.id} />],
          ]}
        />
      </Card>
      <Card title={t.why.steps}>
        <Steps
          step={stepOf(event.reason)}
          reason={reason}
          facts={factsOfDecision(event, requirement)}
          passed={factsOfDenial(event)}
        />
      </Card>
    </>
  )
}
