import { type DelegationPolicy, DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { dateOf, useService } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { changed, useList } from "../../ask.ts"
import { Link } from "../../router.tsx"
import { t as counted } from "../../text/counted.ts"
import { t } from "../../text/screens.ts"
import { Graph } from "./graph.tsx"

interface StandingProps {
  readonly policy: DelegationPolicy
  readonly actor: string
}

/** The people who have let the service act while they are offline. Read when it is opened. */
export function Standing(props: StandingProps): ReactNode {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="graph-below" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t.delegation.standing}</summary>
      {isOpen && <People {...props} />}
    </details>
  )
}

function People({ policy: { id: policyId }, actor }: StandingProps): ReactNode {
  const service = useService(DelegationService)
  const { listPolicyDelegations } = DelegationService.method
  const list = useList(listPolicyDelegations, { policyId, pageSize: 50 }, ({ delegations }) => delegations)
  return (
    <Graph
      list={list}
      none={t.delegation.noStanding}
      edgeOf={({ id, subjectPrincipalId, audiences, scopes, expiresAt }) => ({
        ...{ id, actor, audiences, scopes, isStopped: false },
        subject: <Link to={`/people/${subjectPrincipalId}`}>{subjectPrincipalId}</Link>,
        until: expiresAt ? t.delegation.until(dateOf(expiresAt).toLocaleString()) : "",
      })}
      about={() => counted.delegationOfOther(actor)}
      stop={async ({ id: delegationId }) => {
        await service.revokePolicyDelegation({ policyId, delegationId })
        await changed()
      }}
    />
  )
}
