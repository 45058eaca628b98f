// The standing delegations of other users, for administrators of the policy that allows them.
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { DelegationPolicy } from "@signet/kernel/machine/records"
import type { Tx } from "@signet/kernel/ports"
import type { DelegationService } from "@signet/proto/auth/v1/delegation_service"
import { sessionUserOutsideContexts, type UserContext } from "../../serving/call/call.ts"
import { ofUser } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { limitWrite } from "../limit.ts"
import { pageAsked, pageFound } from "../page.ts"
import { delegationShape } from "./delegation-shape.ts"
import { endDelegation } from "./end-delegation.ts"

/** In place of a policy's id (AIP-159). */
const allPolicies = "-"

type Methods = "listPolicyDelegations" | "revokePolicyDelegation"

export function policyDelegations(deps: Deps): Pick<ServiceImpl<typeof DelegationService>, Methods> {
  return {
    async listPolicyDelegations(request, context) {
      const user = sessionUserOutsideContexts(context)
      const nowMs = deps.clock.nowMs()
      const { appId, tenantId } = user
      return deps.store.transaction(async (tx) => {
        const isOfAll = request.policyId === allPolicies
        const policy = isOfAll ? undefined : administered(user, await findPolicy(tx, request.policyId))
        const filter = ["policy-delegations", ...(policy ? [policy.id] : [allPolicies, appId, tenantId ?? ""])]
        const asked = pageAsked(deps.secrets, "dlg", filter, request)
        const listed = async () => {
          if (policy === undefined) return tx.delegations.listOfPolicies(appId, tenantId, nowMs, asked)
          return policy.revokedAtMs === null ? tx.delegations.listOfPolicy(policy.id, nowMs, asked) : []
        }
        const found = await listed()
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { delegations: page.map(delegationShape), nextPageToken }
      })
    },

    async revokePolicyDelegation(request, context) {
      await revoke(deps, context, request)
      return {}
    },
  }
}

async function revoke(
  deps: Deps,
  context: HandlerContext,
  request: { readonly policyId: string; readonly delegationId: string },
): Promise<void> {
  const user = sessionUserOutsideContexts(context)
  await limitWrite(deps, context)
  const id = parseId("dlg", request.delegationId)
  await deps.store.transaction(async (tx) => {
    const policy = administered(user, await findPolicy(tx, request.policyId))
    const delegation = id && (await tx.delegations.findDelegation(id))
    if (delegation?.policyId !== policy.id) throw new Refused("NOT_FOUND")
    // The event names the delegation's own place and user, so that both find it.
    const { tenantId, contextId, subjectPrincipalId } = delegation
    const facts = { ...ofUser(user), tenantId, contextId, subjectPrincipalId, subjectIdentityId: null }
    await endDelegation(deps, context, tx, delegation.id, facts)
  })
}

async function findPolicy(tx: Tx, idText: string): Promise<DelegationPolicy | undefined> {
  const id = parseId("dpo", idText)
  return id && (await tx.delegations.findPolicy(id))
}

/**
 * The policy, if the user administers it: an administrator of a tenant only the tenant's, and one of the app only the
 * app's own.
 *
 * @throws Refused NOT_FOUND
 */
export function administered(user: UserContext, policy: DelegationPolicy | undefined): DelegationPolicy {
  if (policy?.appId !== user.appId || policy.tenantId !== user.tenantId) throw new Refused("NOT_FOUND")
  return policy
}
