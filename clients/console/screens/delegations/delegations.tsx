import { type Delegation, type DelegationPolicy, DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { ServiceAccountService } from "@signet/proto/auth/v1/service_account_service"
import { amountOf, Counted, dateOf, useService } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAccess } from "../../access.tsx"
import { changed, skipToken, useList, useMethod } from "../../ask.ts"
import { Card, Page } from "../../page.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/screens.ts"
import { Graph } from "./graph.tsx"
import { Standing } from "./standing.tsx"

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
  const { scopes, reaches } = useAccess()
  const canRead = scopes.has("auth.service_accounts.read") && reaches("tenant")
  const { data } = useMethod(ServiceAccountService.method.listServiceAccounts, canRead ? { pageSize: 200 } : skipToken)
  return new Map(data?.serviceAccounts.map(({ principalId, name, clientId }) => [principalId, name || clientId]))
}

function Policies(): ReactNode {
  const service = useService(DelegationService)
  const { app } = useAccess()
  const names = useServiceNames()
  const { listDelegationPolicies } = DelegationService.method
  const list = useList(listDelegationPolicies, { pageSize: 50 }, ({ policies }) => policies)
  const subjectOf = ({ tenantId }: DelegationPolicy) => tenantId || t.delegation.everyone(app?.name ?? t.nav.thisApp)
  const actorOf = ({ actorPrincipalId }: DelegationPolicy) => names.get(actorPrincipalId) ?? actorPrincipalId
  const count = async (policyId: string, signal: AbortSignal) => {
    const page = await service.listPolicyDelegations({ policyId, pageSize: 200 }, { signal })
    return counted.standing(amountOf(page.delegations, page.nextPageToken))
  }
  return (
    <Card title={t.delegation.policies}>
      <Graph
        none={t.delegation.noPolicies}
        list={list}
        edgeOf={(policy) => ({
          ...policy,
          subject: subjectOf(policy),
          actor: actorOf(policy),
          isStopped: policy.revokedAt !== undefined,
          until: policy.revokedAt
            ? t.delegation.stopped(dateOf(policy.revokedAt).toLocaleString())
            : t.delegation.perToken(policy.maxSeconds),
        })}
        below={(policy) =>
          policy.allowStanding && policy.revokedAt === undefined && <Standing policy={policy} actor={actorOf(policy)} />
        }
        about={({ id, actor }) => <Counted about={counted.policy(actor)} count={(signal) => count(id, signal)} />}
        stop={async ({ id }) => {
          await service.revokeDelegationPolicy({ policyId: id })
          await changed()
        }}
      />
    </Card>
  )
}

function Own(): ReactNode {
  const service = useService(DelegationService)
  const names = useServiceNames()
  const list = useList(DelegationService.method.listDelegations, { pageSize: 50 }, ({ delegations }) => delegations)
  return (
    <Card title={t.delegation.own}>
      <Graph
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
        about={({ actor }) => counted.delegation(actor)}
        stop={async ({ id }) => {
          await service.revokeDelegation({ delegationId: id })
          await changed()
        }}
      />
    </Card>
  )
}
