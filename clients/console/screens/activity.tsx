import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import {
  type AuditEventCount,
  AuditService,
  CountAuditEventsRequest_Group as Group,
  AuditEvent_Outcome as Outcome,
} from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import { enumName, Failed, Loading, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAsk } from "../ask.ts"
import { type Span, sumNames, sumSteps } from "../counts.ts"
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

/** Sign-ins, denials and tokens in a time, as the service counts them. */
export function Activity(): ReactNode {
  const [name, setName] = useState<SpanName>("day")
  // Rounded, so that a screen that is drawn again within a minute does not count again.
  const endMs = Math.ceil(Date.now() / 60_000) * 60_000
  const { ms, steps } = spans[name]
  const span: Span = { startMs: endMs - ms, endMs, steps }
  const { data, error, refetch } = useCounts(span)
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
      <Failed error={error} retry={() => void refetch()} />
      {data === undefined && !error && <Loading />}
      {data !== undefined && data.countedFromMs > span.startMs && (
        <p className="notice">{t.notCounted(data.countedFromMs)}</p>
      )}
      {data && <Pictures counts={data.counts} span={span} />}
    </Page>
  )
}

function Pictures({ counts, span }: { readonly counts: readonly AuditEventCount[]; readonly span: Span }): ReactNode {
  const signIns = counts.filter(({ kind }) => kind === "login.succeeded" || kind === "login.failed")
  const denials = counts.filter(({ outcome }) => outcome === Outcome.DENIED)
  const tokens = counts.filter(({ kind, outcome }) => outcome === Outcome.SUCCESS && Object.hasOwn(t.grants, kind))
  return (
    <>
      <Card title={t.signIns}>
        <TimeBars label={t.signIns} series={[t.succeeded, t.failed]} steps={sumSteps(signIns.map(signInOf), span, 2)} />
        <h3>{t.failures}</h3>
        <p className="signet-muted">{t.failuresAbout}</p>
        <NameBars head={t.reason} of={sumNames(signIns.filter(hasFailed).map(byReason))} />
      </Card>
      <Card title={t.denials}>
        <NameBars head={t.reason} of={sumNames(denials.map(byReason))} />
      </Card>
      <Card title={t.tokens}>
        <NameBars
          head={t.grant}
          of={sumNames(tokens.map(({ kind, count }) => ({ name: t.grants[kind] ?? kind, count })))}
        />
      </Card>
    </>
  )
}

const hasFailed = ({ outcome }: AuditEventCount) => outcome !== Outcome.SUCCESS
const byReason = ({ reason, count }: AuditEventCount) => ({ name: enumName(Reason, reason), count })
const signInOf = (of: AuditEventCount) => ({
  atMs: of.startTime === undefined ? Number.NaN : timestampMs(of.startTime),
  series: hasFailed(of) ? 1 : 0,
  count: of.count,
})

/** Each call reads a limited number of events, newest first. */
const mostCalls = 8

function useCounts({ startMs, endMs, steps }: Span) {
  const audit = useService(AuditService)
  return useAsk(["audit", "counted", startMs, endMs], async (signal) => {
    const counts: AuditEventCount[] = []
    let countedFromMs = endMs
    for (let call = 0; call < mostCalls && countedFromMs > startMs; call++) {
      const time = { startTime: timestampFromMs(startMs), endTime: timestampFromMs(countedFromMs) }
      const bucketSeconds = (endMs - startMs) / steps / 1_000
      const groupBy = [Group.KIND, Group.OUTCOME, Group.REASON]
      const answer = await audit.countAuditEvents({ ...time, bucketSeconds, groupBy }, { signal })
      counts.push(...answer.counts)
      countedFromMs = answer.countedStartTime === undefined ? startMs : timestampMs(answer.countedStartTime)
    }
    return { counts, countedFromMs }
  })
}
