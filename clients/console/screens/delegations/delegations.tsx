import { timestampMs } from "@bufbuild/protobuf/wkt"
import { type Delegation, type DelegationPolicy, DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { amountOf, Counted, dateOf, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { useAccess } from "../../access.tsx"
import { changed, useList } from "../../ask.ts"
import { type NameOf, useNames } from "../../names.tsx"
import { Card, Page } from "../../page.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/delegation.ts"
import { PathList } from "./path-list.tsx"
import { chosenIn, type Path, type PathNode, youKey } from "./paths.ts"
import { Picture } from "./picture.tsx"

/** Each actor, the user for whom it acts, the services, and the time of the end. */
export function Delegations(): ReactNode {
  const { scopes, reaches } = useAccess()
  return (
    <Page title={t.title} about={t.about}>
      {scopes.has("auth.delegation.write") && reaches("tenant") && <OfPeople />}
      <Own />
    </Page>
  )
}

/** The policies of the app or tenant, and every person's standing delegation under them. */
function OfPeople(): ReactNode {
  const service = useService(DelegationService)
  const { app, appId } = useAccess()
  const [asked, setChosen] = useState<string>()
  const { listDelegationPolicies, listPolicyDelegations } = DelegationService.method
  const policies = useList(listDelegationPolicies, { pageSize: 50 }, (page) => page.policies)
  // "-" stands for every policy.
  const standing = useList(listPolicyDelegations, { policyId: "-", pageSize: 50 }, ({ delegations }) => delegations)
  const nameOf = useNames(appId, [
    ...policies.items.flatMap(({ actorPrincipalId, tenantId }) => [actorPrincipalId, tenantId]),
    ...standing.items.flatMap(({ actorPrincipalId, subjectPrincipalId }) => [actorPrincipalId, subjectPrincipalId]),
  ])
  const policyPath = (policy: DelegationPolicy): Path => ({
    ...{ id: policy.id, audiences: policy.audiences, scopes: policy.scopes, isStanding: false },
    subject: everyoneIn(policy.tenantId, nameOf, app?.name ?? t.thisApp),
    actor: nodeOf(policy.actorPrincipalId, nameOf),
    isStopped: policy.revokedAt !== undefined,
    until: policy.revokedAt ? t.stopped(dateOf(policy.revokedAt).toLocaleString()) : t.perToken(policy.maxSeconds),
  })
  const standingPath = (one: Delegation): Path => ({
    ...delegationPath(one, nameOf),
    subject: { ...nodeOf(one.subjectPrincipalId, nameOf), to: `/people/${one.subjectPrincipalId}` },
  })
  const paths = [...policies.items.map(policyPath), ...standing.items.map(standingPath)]
  const chosen = chosenIn(paths, asked)
  const actorOf = ({ actorPrincipalId: id }: DelegationPolicy | Delegation) => nameOf(id) ?? id
  const count = async (policyId: string, signal: AbortSignal) => {
    const page = await service.listPolicyDelegations({ policyId, pageSize: 200 }, { signal })
    return counted.standing(amountOf(page.delegations, page.nextPageToken))
  }
  return (
    <Card title={t.ofPeople}>
      <Picture {...{ paths, chosen }} onChoose={setChosen} />
      <PathList
        title={t.policies}
        none={t.noPolicies}
        {...{ list: policies, pathOf: policyPath, chosen }}
        about={(policy) => (
          <Counted about={counted.policy(actorOf(policy))} count={(signal) => count(policy.id, signal)} />
        )}
        stop={async ({ id: policyId }) => {
          await service.revokeDelegationPolicy({ policyId })
          await changed()
        }}
      />
      <PathList
        title={t.standing}
        none={t.noStanding}
        {...{ list: standing, pathOf: standingPath, chosen }}
        about={(one) => counted.delegationOfOther(actorOf(one))}
        stop={async ({ id: delegationId, policyId }) => {
          await service.revokePolicyDelegation({ policyId, delegationId })
          await changed()
        }}
      />
    </Card>
  )
}

/** The standing delegations of the signed-in person. */
function Own(): ReactNode {
  const service = useService(DelegationService)
  const { appId } = useAccess()
  const [asked, setChosen] = useState<string>()
  const list = useList(DelegationService.method.listDelegations, { pageSize: 50 }, ({ delegations }) => delegations)
  const nameOf = useNames(
    appId,
    list.items.map(({ actorPrincipalId }) => actorPrincipalId),
  )
  const pathOf = (one: Delegation): Path => ({
    ...delegationPath(one, nameOf),
    subject: { key: youKey, name: t.you },
  })
  const paths = list.items.map(pathOf)
  const chosen = chosenIn(paths, asked)
  return (
    <Card title={t.own}>
      <Picture {...{ paths, chosen }} onChoose={setChosen} />
      <PathList
        title={t.ownStanding}
        none={t.noOwn}
        {...{ list, pathOf, chosen }}
        about={({ actorPrincipalId: id }) => counted.delegation(nameOf(id) ?? id)}
        stop={async ({ id: delegationId }) => {
          await service.revokeDelegation({ delegationId })
          await changed()
        }}
      />
    </Card>
  )
}

const nodeOf = (id: string, nameOf: NameOf): PathNode => ({ key: id, id, name: nameOf(id) ?? id })

function everyoneIn(tenantId: string, nameOf: NameOf, appName: string): PathNode {
  if (tenantId === "") return { key: "everyone", name: t.everyone(appName) }
  return { key: tenantId, id: tenantId, name: t.everyone(nameOf(tenantId) ?? tenantId) }
}

/** A standing delegation without its subject. */
function delegationPath(one: Delegation, nameOf: NameOf): Omit<Path, "subject"> {
  const { id, audiences, scopes, expiresAt, revokedAt, actorPrincipalId } = one
  const hasExpired = expiresAt !== undefined && timestampMs(expiresAt) <= Date.now()
  return {
    ...{ id, audiences, scopes, actor: nodeOf(actorPrincipalId, nameOf), isStanding: true },
    endsAtMs: expiresAt && timestampMs(expiresAt),
    isStopped: revokedAt !== undefined || hasExpired,
    until: revokedAt
      ? t.stopped(dateOf(revokedAt).toLocaleString())
      : expiresAt
        ? (hasExpired ? t.ended : t.until)(dateOf(expiresAt).toLocaleString())
        : "",
  }
}
