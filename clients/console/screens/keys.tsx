import { AuditService } from "@signet/proto/auth/v1/audit_service"
import { dateOf, Failed, Loading, Time } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAccess } from "../access.tsx"
import { useAsk, useList } from "../ask.ts"
import { Card, Page } from "../page.tsx"
import { t } from "../text/screens.ts"

const kinds = ["key.published", "key.activated", "key.retired", "key.compromised"]

interface Jwk {
  readonly kid: string
  readonly alg?: string
  readonly crv?: string
}

/** The published signing keys, and for administrators of the installation the changes of their states. */
export function Keys(): ReactNode {
  const { isInstallation, scopes } = useAccess()
  return (
    <Page title={t.keys.title} about={t.keys.about}>
      {isInstallation && scopes.has("auth.audit.read") ? (
        <TimeLine />
      ) : (
        <p className="notice">{t.keys.installationOnly}</p>
      )}
      <KeySet path="/.well-known/jwks.json" title={t.keys.access} />
      <KeySet path="/.well-known/statement-keys.json" title={t.keys.statements} />
      <KeySet path="/.well-known/context-keys.json" title={t.keys.contexts} />
    </Page>
  )
}

function KeySet({ path, title }: { path: string; title: string }): ReactNode {
  const { data, error, isPending, refetch } = useAsk(["keys", path], async (signal) => {
    const response = await fetch(path, { signal })
    if (!response.ok) throw new Error(`${path} answered ${response.status}`)
    const { keys } = (await response.json()) as { keys: readonly Jwk[] }
    return keys
  })
  return (
    <Card title={title}>
      {isPending && <Loading />}
      {error && <Failed error={error} retry={() => void refetch()} />}
      <ul className="rows">
        {data?.map(({ kid, alg, crv }) => (
          <li key={kid}>
            <code className="id">{kid}</code>
            <span className="signet-muted">{[alg, crv].filter(Boolean).join(" · ")}</span>
          </li>
        ))}
      </ul>
      <p className="signet-id">{path}</p>
    </Card>
  )
}

/** From the audit: when each key was published, took over and was retired. */
function TimeLine(): ReactNode {
  const { listAuditEvents } = AuditService.method
  const list = useList(listAuditEvents, { kinds, pageSize: 50 }, ({ auditEvents }) => auditEvents)
  return (
    <Card title={t.keys.timeLine}>
      {list.items.length === 0 && list.isPending && <Loading />}
      <Failed error={list.error} retry={list.reload} />
      {list.items.length === 0 && !list.isPending && list.error === undefined && (
        <p className="empty">{t.keys.noChanges}</p>
      )}
      <ol className="time-line">
        {list.items
          .toSorted((a, b) => timeOf(b) - timeOf(a))
          .map(({ id, kind, occurredAt, target }) => (
            <li key={id} className={`time-line-${kind.split(".")[1]}`}>
              <Time at={occurredAt} />
              <span className="strong">{t.keys.states[kind] ?? kind}</span>
              <code className="id">{target?.id}</code>
            </li>
          ))}
      </ol>
      {list.hasMore && (
        <button type="button" className="signet-button" disabled={list.isPending} onClick={list.more}>
          {t.more}
        </button>
      )}
    </Card>
  )
}

const timeOf = ({ occurredAt }: { occurredAt?: Parameters<typeof dateOf>[0] }): number =>
  occurredAt === undefined ? 0 : dateOf(occurredAt).getTime()
