import { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { Grant_Status } from "@signet/proto/auth/v1/grants"
import { Membership_Status as Is, type Membership } from "@signet/proto/auth/v1/records"
import type { ReactNode } from "react"
import { amountOf } from "./amount.ts"
import { useService } from "./calls.ts"
import { Counted } from "./counted.tsx"
import { englishMembers } from "./members-text.ts"
import { useText } from "./provider.tsx"

interface MemberEndsProps {
  readonly of: Membership
  readonly about: string
  /** A removal ends the memberships inside and the grants as well as the sessions. */
  readonly isRemoval: boolean
}

const live: readonly Is[] = [Is.INVITED, Is.REQUESTED, Is.ACTIVE, Is.SUSPENDED]

/** The things that end with a membership, with their number. */
export function MemberEnds({ of, about, isRemoval }: MemberEndsProps): ReactNode {
  const service = useService(AppAuthService)
  const { members = englishMembers } = useText()
  const { id, appId, principalId, tenantId, contextId } = of
  const asked = { appId, principalId, tenantId, pageSize: 200 }
  const isInside = (one: { readonly contextId: string }) => contextId === "" || one.contextId === contextId
  const sessionsOf = async (signal: AbortSignal) => {
    const { sessions, nextPageToken } = await service.listPrincipalSessions(asked, { signal })
    return amountOf(sessions.filter(isInside), nextPageToken)
  }
  const membershipsOf = async (signal: AbortSignal) => {
    const { memberships, nextPageToken } = await service.listMemberships({ ...asked, contextId }, { signal })
    const inside = memberships.filter((one) => one.id !== id && live.includes(one.status))
    return amountOf(inside, nextPageToken)
  }
  const grantsOf = async (signal: AbortSignal) => {
    const { grants, nextPageToken } = await service.listGrants({ ...asked, contextId }, { signal })
    const active = grants.filter(({ status }) => status === Grant_Status.ACTIVE)
    return amountOf(active, nextPageToken)
  }
  const count = async (signal: AbortSignal) => {
    if (!isRemoval) return members.sessionsEnd(await sessionsOf(signal))
    const [sessions, inside, grants] = await Promise.all([sessionsOf(signal), membershipsOf(signal), grantsOf(signal)])
    return members.allEnd(sessions, inside, grants)
  }
  return <Counted {...{ about, count }} />
}
