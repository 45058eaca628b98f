import { type Delegation, type DelegationPolicy, DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { ServiceAccountService } from "@signet/proto/auth/v1/service_account_service"
import { Confirm, dateOf, Failed, type Listed, useAction, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../access.tsx"
import { changed, useAsk, useList } from "../ask.ts"
import { Card, Page } from "../page.tsx"
import { t as counted } from "../text/counted.ts"
import { t } from "../text/screens.ts"

/** Each actor, the user for whom it acts, the services, and the time of the end. */
export function Delegations(): ReactNode {
  const { scopes, reaches } = useAccess()
  return (
    <Page title={t.delegation.title} about={t.delegation.about}>
      {scopes.has("auth.delegation.write") && reaches("tenant") && <Policies />}
      <Own />
    </Page>
  )
}

/** The names of the app's newest service accounts, by principal. */
function useServiceNames(): ReadonlyMap<string, string> {
  const machines = useService(ServiceAccountService)
  const { scopes, reaches } = useAccess()
  const canRead = scopes.has("auth.service_accounts.read") && reaches("tenant")
  const { data } = useAsk(["services", "names", canRead], async (signal) => {
    if (!canRead) return new Map<string, string>()
    const { serviceAccounts } = await machines.listServiceAccounts({ pageSize: 200 }, { signal })
    return new Map(serviceAccounts.map(({ principalId, name, clientId }) => [principalId, name || clientId]))
  })
  return data ?? new Map()
}

function Policies(): ReactNode {
  const service = useService(DelegationService)
  const { app } = useAccess()
  const names = useServiceNames()
  const list = useList(["delegations", "policies"], async (pageToken, signal) => {
    const page = await service.listDelegationPolicies({ pageToken, pageSize: 50 }, { signal })
    return { items: page.policies, nextPageToken: page.nextPageToken }
  })
  const subjectOf = ({ tenantId }: DelegationPolicy) => tenantId || t.delegation.everyone(app?.name ?? t.nav.thisApp)
  return (
    <Graph
      title={t.delegation.policies}
      none={t.delegation.noPolicies}
      list={list}
      edgeOf={(policy) => ({
        ...policy,
        subject: subjectOf(policy),
        actor: names.get(policy.actorPrincipalId) ?? policy.actorPrincipalId,
        isStopped: policy.revokedAt !== undefined,
        until: policy.revokedAt
          ? t.delegation.stopped(dateOf(policy.revokedAt).toLocaleString())
          : t.delegation.perToken(policy.maxSeconds),
      })}
      about={counted.policy}
      stop={async ({ id }) => {
        await service.revokeDelegationPolicy({ policyId: id })
        await changed("delegations")
      }}
    />
  )
}

function Own(): ReactNode {
  const service = useService(DelegationService)
  const names = useServiceNames()
  const list = useList(["delegations", "own"], async (pageToken, signal) => {
    const page = await service.listDelegations({ pageToken, pageSize: 50 }, { signal })
    return { items: page.delegations, nextPageToken: page.nextPageToken }
  })
  return (
    <Graph
      title={t.delegation.own}
      none={t.delegation.noOwn}
      list={list}
      edgeOf={(one: Delegation) => ({
        ...one,
        subject: t.delegation.you,
        actor: names.get(one.actorPrincipalId) ?? one.actorPrincipalId,
        isStopped: one.revokedAt !== undefined,
        until: one.revokedAt
          ? t.delegation.stopped(dateOf(one.revokedAt).toLocaleString())
          : one.expiresAt
            ? t.delegation.until(dateOf(one.expiresAt).toLocaleString())
            : "",
      })}
      about={counted.delegation}
      stop={async ({ id }) => {
        await service.revokeDelegation({ delegationId: id })
        await changed("delegations")
      }}
    />
  )
}

interface Edge {
  readonly id: string
  readonly subject: string
  readonly actor: string
  readonly audiences: readonly string[]
  readonly scopes: readonly string[]
  readonly until: string
  readonly isStopped: boolean
}

interface GraphProps<Item> {
  readonly title: string
  readonly none: string
  readonly list: Listed<Item>
  readonly edgeOf: (item: Item) => Edge
  readonly about: (actor: string) => string
  readonly stop: (edge: Edge) => Promise<void>
}

/** Each row is a path of the graph: subject, acting service, called services. */
function Graph<Item>({ title, none, list, edgeOf, about, stop }: GraphProps<Item>): ReactNode {
  const [stopping, setStopping] = useState<Edge>()
  const act = useAction(async (edge: Edge) => {
    await stop(edge)
    setStopping(undefined)
  })
  return (
    <Card title={title}>
      <Failed error={list.error} retry={list.reload} />
      {list.items.length === 0 && !list.isPending && <p className="empty">{none}</p>}
      <ul className="graph">
        {list.items.map(edgeOf).map((edge) => (
          <li key={edge.id} className={edge.isStopped ? "graph-stopped" : undefined}>
            <div className="graph-path">
              <span className="graph-node">{edge.subject}</span>
              <span className="graph-arrow" aria-hidden="true" />
              <span className="visually-hidden">{t.delegation.letsAct}</span>
              <span className="graph-node graph-actor">{edge.actor}</span>
              <span className="graph-arrow" aria-hidden="true" />
              <span className="visually-hidden">{t.delegation.at}</span>
              <span className="graph-node">{edge.audiences.join(", ")}</span>
            </div>
            <p className="graph-facts">
              {edge.scopes.join(", ")} · {edge.until}
            </p>
            {!edge.isStopped && (
              <button type="button" className="signet-button signet-danger" onClick={() => setStopping(edge)}>
                {t.delegation.stop}
              </button>
            )}
          </li>
        ))}
      </ul>
      {list.hasMore && (
        <button type="button" className="signet-button" onClick={list.more}>
          {t.more}
        </button>
      )}
      {stopping && (
        <Confirm
          title={t.delegation.stopTitle}
          about={about(stopping.actor)}
          action={t.delegation.stop}
          error={act.error}
          isPending={act.isPending}
          onConfirm={() => act.run(stopping)}
          onClose={() => {
            act.clear()
            setStopping(undefined)
          }}
        />
      )}
    </Card>
  )
}
