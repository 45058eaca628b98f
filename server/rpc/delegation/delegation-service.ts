import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { scopesHeldAnywhere } from "@signet/kernel/authz/scopes"
import { Refused } from "@signet/kernel/errors"
import { newId, parseId } from "@signet/kernel/ids"
import type { DelegationPolicy, StandingDelegation } from "@signet/kernel/machine/records"
import type { Tx } from "@signet/kernel/ports"
import { maxDelegatedSeconds } from "@signet/kernel/token/exchange"
import { maxStandingSeconds, policyFault, standingFault } from "@signet/kernel/token/standing"
import type {
  CreateDelegationPolicyRequest,
  CreateDelegationRequest,
  DelegationService,
} from "@signet/proto/auth/v1/delegation_service"
import { sessionUserOf, sessionUserOutsideContexts, type UserContext } from "../../serving/call/call.ts"
import { auditEvent, ofUser } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { limitWrite } from "../limit.ts"
import { pageAsked, pageFound } from "../page.ts"
import { isPlaceOpen } from "../place.ts"
import { placeIn } from "../token/pat-grant.ts"
import { delegationShape, policyShape } from "./delegation-shape.ts"
import { endDelegation } from "./end-delegation.ts"
import { administered, policyDelegations } from "./policy-delegations.ts"

export function delegationService(deps: Deps): ServiceImpl<typeof DelegationService> {
  return {
    ...policyDelegations(deps),

    async createDelegationPolicy(request, context) {
      return { policy: policyShape(await createPolicy(deps, context, request)) }
    },

    async listDelegationPolicies(request, context) {
      const { appId, tenantId } = sessionUserOutsideContexts(context)
      const filter = ["delegation-policies", appId, tenantId ?? ""]
      const asked = pageAsked(deps.secrets, "dpo", filter, request)
      const found = await deps.store.transaction((tx) => tx.delegations.listPolicies(appId, tenantId, asked))
      const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
      return { policies: page.map(policyShape), nextPageToken }
    },

    async revokeDelegationPolicy({ policyId }, context) {
      await revokePolicy(deps, context, policyId)
      return {}
    },

    async createDelegation(request, context) {
      return { delegation: delegationShape(await createDelegation(deps, context, request)) }
    },

    async listDelegations(request, context) {
      const { appId, principal } = sessionUserOf(context)
      const filter = ["delegations", principal.id, appId]
      const asked = pageAsked(deps.secrets, "dlg", filter, request)
      const found = await deps.store.transaction((tx) => tx.delegations.listDelegations(principal.id, appId, asked))
      const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
      return { delegations: page.map(delegationShape), nextPageToken }
    },

    async revokeDelegation({ delegationId }, context) {
      await revokeDelegation(deps, context, delegationId)
      return {}
    },
  }
}

const invalid = (field: string): Refused => new Refused("INVALID_FIELD", { metadata: { field } })

async function createPolicy(
  deps: Deps,
  context: HandlerContext,
  request: CreateDelegationPolicyRequest,
): Promise<DelegationPolicy> {
  const user = sessionUserOutsideContexts(context)
  await limitWrite(deps, context)
  const nowMs = deps.clock.nowMs()
  const { audiences, scopes, allowStanding } = request
  if (request.tenantId !== "" && request.tenantId !== user.tenantId) throw new Refused("TENANT_MISMATCH")
  const actorId = parseId("prn", request.actorPrincipalId)
  const outcome = await deps.store.transaction(async (tx) => {
    const actor = actorId && (await tx.serviceAccounts.findByPrincipal(actorId))
    const app = await tx.apps.findApp(user.appId)
    // Another app's actor is answered as a missing one.
    if (!actor || app === undefined || actor.appId !== user.appId || actor.tenantId !== user.tenantId) {
      return invalid("actor_principal_id")
    }
    const fault = policyFault(
      { audiences, scopes },
      { app, allowedAudiences: actor.allowedAudiences, authAudience: deps.authAudience },
    )
    if (fault !== undefined) return invalid(fault)
    const policy: DelegationPolicy = {
      id: newId("dpo", nowMs, deps.random.bytes(10)),
      appId: user.appId,
      tenantId: user.tenantId,
      actorPrincipalId: actor.principalId,
      audiences,
      scopes,
      maxSeconds: request.maxSeconds || maxDelegatedSeconds,
      allowStanding,
      createdAtMs: nowMs,
      revokedAtMs: null,
    }
    await tx.delegations.insertPolicy(policy)
    const target = { type: "delegation_policy", id: policy.id }
    await tx.audit.append(
      auditEvent(deps, context, nowMs, { ...ofUser(user), kind: "delegation_policy.created", target }),
    )
    return policy
  })
  if (outcome instanceof Refused) throw outcome
  return outcome
}

async function revokePolicy(deps: Deps, context: HandlerContext, policyId: string): Promise<void> {
  const user = sessionUserOutsideContexts(context)
  await limitWrite(deps, context)
  const nowMs = deps.clock.nowMs()
  const id = parseId("dpo", policyId)
  await deps.store.transaction(async (tx) => {
    const policy = administered(user, id && (await tx.delegations.lockPolicy(id)))
    if (!(await tx.delegations.revokePolicy(policy.id, nowMs))) return
    const target = { type: "delegation_policy", id: policy.id }
    await tx.audit.append(
      auditEvent(deps, context, nowMs, { ...ofUser(user), kind: "delegation_policy.revoked", target }),
    )
  })
}

async function createDelegation(
  deps: Deps,
  context: HandlerContext,
  request: CreateDelegationRequest,
): Promise<StandingDelegation> {
  const user = sessionUserOf(context)
  await limitWrite(deps, context)
  const nowMs = deps.clock.nowMs()
  const { audiences, scopes } = request
  const outcome = await deps.store.transaction(async (tx) => {
    const policy = await standingPolicy(tx, user, request.policyId)
    if (policy === undefined) return new Refused("DELEGATION_NOT_ALLOWED")
    const app = await tx.apps.findApp(user.appId)
    // Locked: a concurrent removal of the member revokes this delegation too.
    await tx.principals.lock(user.principal.id)
    const memberships = await tx.identities.findMemberships(user.principal.id, user.appId)
    const membership = placeIn(memberships, user.tenantId, user.contextId)
    if (app === undefined || membership === undefined) return new Refused("MEMBERSHIP_INACTIVE")
    if (!(await isPlaceOpen(tx, app.status, user))) return new Refused("TENANT_SUSPENDED")
    const fault = standingFault({ audiences, scopes }, { policy, held: scopesHeldAnywhere(app, membership) })
    if (fault !== undefined) return invalid(fault)
    const delegation: StandingDelegation = {
      id: newId("dlg", nowMs, deps.random.bytes(10)),
      policyId: policy.id,
      appId: user.appId,
      tenantId: user.tenantId,
      contextId: user.contextId,
      subjectPrincipalId: user.principal.id,
      actorPrincipalId: policy.actorPrincipalId,
      audiences,
      scopes,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + (request.expiresIn || maxStandingSeconds) * 1_000,
      revokedAtMs: null,
    }
    await tx.delegations.insertDelegation(delegation)
    const target = { type: "delegation", id: delegation.id }
    await tx.audit.append(auditEvent(deps, context, nowMs, { ...ofUser(user), kind: "delegation.created", target }))
    return delegation
  })
  if (outcome instanceof Refused) throw outcome
  return outcome
}

/** The policy, if it allows standing delegations from this user. Locked, so that it is not revoked meanwhile. */
async function standingPolicy(tx: Tx, user: UserContext, policyId: string): Promise<DelegationPolicy | undefined> {
  const id = parseId("dpo", policyId)
  const policy = id && (await tx.delegations.lockPolicy(id))
  if (!policy || policy.appId !== user.appId || policy.revokedAtMs !== null || !policy.allowStanding) return undefined
  return policy.tenantId === null || policy.tenantId === user.tenantId ? policy : undefined
}

async function revokeDelegation(deps: Deps, context: HandlerContext, delegationId: string): Promise<void> {
  const user = sessionUserOf(context)
  await limitWrite(deps, context)
  const id = parseId("dlg", delegationId)
  await deps.store.transaction(async (tx) => {
    const delegation = id && (await tx.delegations.findDelegation(id))
    // Another user's delegation is answered as a missing one.
    if (delegation?.subjectPrincipalId !== user.principal.id || delegation.appId !== user.appId) {
      throw new Refused("NOT_FOUND")
    }
    await endDelegation(deps, context, tx, delegation.id, ofUser(user))
  })
}
