// Exchanges a personal access token for an access token. The personal access token is the credential; no client takes
// part.

import type { HandlerContext } from "@connectrpc/connect"
import { tokenIdOf } from "@signet/kernel/audit/token-event"
import { Refused } from "@signet/kernel/errors"
import type { ContextId, TenantId } from "@signet/kernel/ids"
import type { Pat } from "@signet/kernel/machine/records"
import type { Tx } from "@signet/kernel/ports"
import type { Membership } from "@signet/kernel/records"
import { buildPatClaims } from "@signet/kernel/token/machine-claims"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { contextAsked, decidePatExchange, type PatExchange, type PatFacts } from "@signet/kernel/token/pat"
import { auditEvent } from "../audit/audit.ts"
import { audited } from "../audit/refusals.ts"
import type { Deps } from "../deps.ts"
import { limit, limited, networkOf } from "../limit.ts"
import { isPlaceOpen } from "../place.ts"
import { type IssuedToken, issued, issueOf } from "./issued.ts"
import { invalidRequest, refusal } from "./refuse.ts"

interface PatCall {
  /** The personal access token. */
  pat: string
  /** May be empty if the personal access token allows exactly one audience. */
  audience: string
  /** Empty for all scopes of the personal access token. */
  scopes: readonly string[]
  /** Only for a personal access token that is bound to no context. */
  contextId: ContextId | null
}

/**
 * Grants no scope that the personal access token lacks or that its user no longer holds.
 *
 * @throws Refused PAT_INVALID, PRINCIPAL_INACTIVE, IDENTITY_INACTIVE, MEMBERSHIP_INACTIVE, TENANT_SUSPENDED,
 * AUDIENCE_NOT_ALLOWED, SCOPE_NOT_GRANTED, INVALID_FIELD
 */
export async function exchangePat(deps: Deps, context: HandlerContext, call: PatCall): Promise<IssuedToken> {
  // The checksum refuses invalid texts without a query.
  const token = parseOpaque("sgpat_", call.pat)
  const rejected = { kind: "pat.rejected", outcome: "DENIED" } as const
  if (token === undefined) throw audited(refusal("PAT_INVALID"), rejected)
  await limit(deps, context, "pat", { ip: networkOf(context) })
  const hashes = deps.secrets.hashes("pat", token)
  const outcome = await deps.store.transaction(async (tx) => {
    const pat = await tx.pats.findByHash(hashes)
    if (pat === undefined) return audited(refusal("PAT_INVALID"), rejected)
    const exchanged = await exchange(deps, context, tx, pat, call)
    return exchanged instanceof Refused ? audited(exchanged, { ...rejected, ...patFacts(pat) }) : exchanged
  })
  if (outcome instanceof Refused) throw outcome
  return outcome
}

async function exchange(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  pat: Pat,
  call: PatCall,
): Promise<IssuedToken | Refused> {
  const nowMs = deps.clock.nowMs()
  const tooMany = await limited(deps, context, "pat", { pat: pat.id }, { counts: tx.limits })
  if (tooMany !== undefined) return tooMany
  const versions = await tx.authorities.find(pat.principalId, pat.appId)
  const facts = await factsOf(tx, pat, call)
  const decision = decidePatExchange(facts, call, { authAudience: deps.authAudience, nowMs })
  if (decision.is === "refuse") return refusalOf(decision)
  const { audience, scopes, contextId } = decision
  const isOpen = facts.app && (await isPlaceOpen(tx, facts.app.status, { ...pat, contextId }))
  if (!isOpen) return refusalOf({ is: "refuse", reason: "TENANT_SUSPENDED" })

  await tx.pats.markUsed(pat.id, nowMs)
  const used = { ...patFacts(pat), kind: "pat.used", contextId, actorPrincipalId: pat.principalId } as const
  const event = auditEvent(deps, context, nowMs, used)
  await tx.audit.append(event)
  const asked = { audience, scopes, versions, lifetimeSeconds: deps.accessTokenSeconds }
  const claims = buildPatClaims({ ...issueOf(deps, nowMs, asked, tokenIdOf(event.id)), pat, contextId })
  return issued(deps, claims)
}

/** The token's owner as the subject. The caller has not proved to be the owner, so the event has no actor. */
export const patFacts = (pat: Pat) => ({
  appId: pat.appId,
  tenantId: pat.tenantId,
  contextId: pat.contextId,
  subjectPrincipalId: pat.principalId,
  subjectIdentityId: pat.identityId,
  target: { type: "pat", id: pat.id },
})

/** The current facts of the decision. */
async function factsOf(tx: Tx, pat: Pat, { contextId }: PatCall): Promise<PatFacts> {
  const memberships = await tx.identities.findMemberships(pat.principalId, pat.appId)
  return {
    pat,
    principal: await tx.identities.findPrincipal(pat.principalId),
    identity: await tx.identities.findIdentity(pat.identityId),
    app: await tx.apps.findApp(pat.appId),
    membership: placeIn(memberships, null, null),
    placeMembership: placeIn(memberships, pat.tenantId, contextAsked(pat, contextId) ?? null),
  }
}

/** Adds the RFC 6749 error code where it differs from the reason's usual one. */
function refusalOf({ reason, field }: Extract<PatExchange, { is: "refuse" }>): Refused {
  switch (reason) {
    case "INVALID_FIELD":
      return invalidRequest("audience", "this personal access token allows several audiences; name one")
    case "CONTEXT_MISMATCH":
      return refusal(reason, { error: "invalid_request", field: "context_id" })
    case "AUDIENCE_NOT_ALLOWED":
    case "SCOPE_NOT_GRANTED":
      return refusal(reason, field === undefined ? {} : { field })
    default:
      return refusal(reason, { error: "invalid_grant" })
  }
}

/**
 * The membership of the innermost place. Undefined unless the one in the app is active, and undefined if one around it
 * is suspended.
 */
export function placeIn(
  memberships: readonly Membership[],
  tenantId: TenantId | null,
  contextId: ContextId | null,
): Membership | undefined {
  const at = (tenant: TenantId | null, inner: ContextId | null) =>
    memberships.find((each) => each.status === "ACTIVE" && each.tenantId === tenant && each.contextId === inner)
  const isSuspended = memberships.some(
    (each) => each.status === "SUSPENDED" && each.tenantId === tenantId && each.contextId === null,
  )
  return isSuspended ? undefined : at(null, null) && at(tenantId, contextId)
}
