import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { type AuditEvent, AuditService, AuditEvent_Outcome as Outcome } from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import { enumName, Failed, Loading, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAsk } from "../ask.ts"
import { countNames, countSteps, type Span } from "../counts.ts"
import { Card, Choice, Page } from "../page.tsx"
import { t } from "../text/activity.ts"
import { NameBars, TimeBars } from "./bars.tsx"

const hour = 3_600_000
const spans = {
  day: { ms: 24 * hour, steps: 24 },
  week: { ms: 7 * 24 * hour, steps: 28 },
  month: { ms: 30 * 24 * hour, steps: 30 },
} as const
type SpanName = keyof typeof spans
const isSpanName = (name: string): name is SpanName => name in spans

/** Sign-ins, denials and tokens in a time, counted from the audit. */
export function Activity(): ReactNode {
  const [name, setName] = useState<SpanName>("day")
  // Rounded, so that the three reads of one minute share their keys.
  const endMs = Math.ceil(Date.now() / 60_000) * 60_000
  const { ms, steps } = spans[name]
  const span: Span = { startMs: endMs - ms, endMs, steps }
  return (
    <Page title={t.title} about={t.about}>
      <div className="bar">
        <Choice
          label={t.span}
          value={name}
          onChange={(next) => isSpanName(next) && setName(next)}
          of={Object.entries(t.spans)}
        />
      </div>
      <Counted title={t.signIns} span={span} of={{ kinds: ["login.succeeded", "login.failed"] }}>
        {(events) => (
          <>
            <TimeBars
              label={t.signIns}
              series={[t.succeeded, t.failed]}
              steps={countSteps(events.map(signInOf), span, 2)}
            />
            <h3>{t.failures}</h3>
            <p className="signet-muted">{t.failuresAbout}</p>
            <NameBars head={t.reason} of={countNames(events.filter(hasFailed).map(reasonOf))} />
          </>
        )}
      </Counted>
      <Counted title={t.denials} span={span} of={{ outcome: Outcome.DENIED }}>
        {(events) => <NameBars head={t.reason} of={countNames(events.map(reasonOf))} />}
      </Counted>
      <Counted title={t.tokens} span={span} of={{ kinds: Object.keys(t.grants), outcome: Outcome.SUCCESS }}>
        {(events) => <NameBars head={t.grant} of={countNames(events.map(({ kind }) => t.grants[kind] ?? kind))} />}
      </Counted>
    </Page>
  )
}

const hasFailed = ({ outcome }: AuditEvent) => outcome !== Outcome.SUCCESS
const reasonOf = ({ reason }: AuditEvent) => enumName(Reason, reason)
const signInOf = (event: AuditEvent) => ({
  atMs: event.occurredAt === undefined ? Number.NaN : timestampMs(event.occurredAt),
  series: hasFailed(event) ? 1 : 0,
})

interface CountedProps {
  readonly title: string
  readonly span: Span
  readonly of: { readonly kinds?: readonly string[]; readonly outcome?: Outcome }
  readonly children: (events: readonly AuditEvent[]) => ReactNode
}

const [pageSize, mostPages] = [200, 5]

/** Reads the events of the span, newest first, up to a limit that the card states. */
function Counted({ title, span: { startMs, endMs }, of, children }: CountedProps): ReactNode {
  const audit = useService(AuditService)
  const { data, error, refetch } = useAsk(["audit", "counted", title, startMs, endMs], async (signal) => {
    const events: AuditEvent[] = []
    let pageToken = ""
    for (let page = 0; page < mostPages; page++) {
      const time = { startTime: timestampFromMs(startMs), endTime: timestampFromMs(endMs) }
      const request = { kinds: [...(of.kinds ?? [])], outcome: of.outcome ?? Outcome.OUTCOME_UNSPECIFIED, ...time }
      const answer = await audit.listAuditEvents({ ...request, pageSize, pageToken }, { signal })
      events.push(...answer.auditEvents)
      pageToken = answer.nextPageToken
      if (pageToken === "") break
    }
    return { events, isCapped: pageToken !== "" }
  })
  return (
    <Card title={title}>
      <Failed error={error} retry={() => void refetch()} />
      {data === undefined && !error && <Loading />}
      {data?.isCapped && <p className="notice">{t.capped(data.events.length)}</p>}
      {data && children(data.events)}
    </Card>
  )
}
