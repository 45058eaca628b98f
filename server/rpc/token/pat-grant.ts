// A personal access token for an access token. The personal access token is the credential; no client takes part.
import type { HandlerContext } from "@connectrpc/connect"
import { scopesHeld } from "@signet/kernel/authz/scopes"
import { Refused } from "@signet/kernel/errors"
import type { ContextId, TenantId } from "@signet/kernel/ids"
import type { Pat } from "@signet/kernel/machine-records"
import type { Tx } from "@signet/kernel/ports"
import type { Membership } from "@signet/kernel/records"
import { buildPatClaims } from "@signet/kernel/token/machine-claims"
import { narrowed } from "@signet/kernel/token/narrow"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { auditEvent } from "../audit.ts"
import type { Deps } from "../deps.ts"
import { type IssuedToken, issued, issueOf } from "./issued.ts"
import { invalidRequest, refusal } from "./refuse.ts"

export interface PatCall {
  /** The personal access token. */
  pat: string
  /** May be empty for one that allows exactly one audience. */
  audience: string
  /** Empty for all that the personal access token has. */
  scopes: readonly string[]
  /** Only for one that is bound to no context. */
  contextId: ContextId | null
}

/**
 * Never gives a scope that the personal access token does not have, or that its user does not hold at this moment.
 *
 * @throws Refused PAT_INVALID, PRINCIPAL_INACTIVE, IDENTITY_INACTIVE, MEMBERSHIP_INACTIVE, TENANT_SUSPENDED,
 *   AUDIENCE_NOT_ALLOWED, SCOPE_NOT_GRANTED, INVALID_FIELD
 */
export async function exchangePat(deps: Deps, context: HandlerContext, call: PatCall): Promise<IssuedToken> {
  // Garbage is told from tokens by its checksum, so it costs no query.
  const token = parseOpaque("sgpat_", call.pat)
  if (token === undefined) throw refusal("PAT_INVALID")
  const hashes = deps.secrets.hashes("pat", token)
  const outcome = await deps.store.transaction(async (tx) => {
    const pat = await tx.pats.findByHash(hashes)
    return pat === undefined ? refusal("PAT_INVALID") : exchange(deps, context, tx, pat, call)
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
  if (pat.revokedAtMs !== null || pat.expiresAtMs <= nowMs) return refusal("PAT_INVALID")
  const app = await tx.apps.findApp(pat.appId)
  if (app?.status !== "ACTIVE") return refusal("TENANT_SUSPENDED", { error: "invalid_grant" })
  const memberships = await membershipsOf(tx, pat)
  if (memberships instanceof Refused) return memberships

  const [only, ...others] = pat.allowedAudiences
  const audience = call.audience === "" && others.length === 0 ? (only ?? "") : call.audience
  if (audience === "")
    return invalidRequest("audience", "this personal access token allows several audiences; name one")
  if (!pat.allowedAudiences.includes(audience)) return refusal("AUDIENCE_NOT_ALLOWED", { field: "audience" })

  if (call.contextId !== null && pat.contextId !== null && call.contextId !== pat.contextId) {
    return refusal("CONTEXT_MISMATCH", { error: "invalid_request", field: "context_id" })
  }
  const contextId = pat.contextId ?? call.contextId
  const membership = placeIn(memberships, pat.tenantId, contextId)
  if (membership === undefined) return refusal("MEMBERSHIP_INACTIVE", { error: "invalid_grant" })
  const scopes = narrowed(call.scopes, pat.scopes, pat.scopes, scopesHeld(app, membership, audience))
  if (scopes === undefined) return refusal("SCOPE_NOT_GRANTED", { field: "scope" })

  const claims = buildPatClaims({
    ...issueOf(deps, nowMs, { audience, scopes, lifetimeSeconds: deps.accessTokenSeconds }),
    pat,
    contextId,
  })
  await tx.pats.markUsed(pat.id, nowMs)
  await tx.audit.append(
    auditEvent(deps, context, nowMs, {
      kind: "token.exchanged",
      appId: pat.appId,
      tenantId: pat.tenantId,
      contextId,
      actorPrincipalId: pat.principalId,
      subjectPrincipalId: pat.principalId,
      subjectIdentityId: pat.identityId,
      target: { type: "pat", id: pat.id },
    }),
  )
  return issued(deps, context, claims)
}

/** The user's memberships, if the user is active. */
async function membershipsOf(tx: Tx, pat: Pat): Promise<readonly Membership[] | Refused> {
  const principal = await tx.identities.findPrincipal(pat.principalId)
  if (principal?.status !== "ACTIVE") return refusal("PRINCIPAL_INACTIVE", { error: "invalid_grant" })
  const identity = await tx.identities.findIdentity(pat.identityId)
  if (identity?.status !== "ACTIVE") return refusal("IDENTITY_INACTIVE", { error: "invalid_grant" })
  return tx.identities.findMemberships(pat.principalId, pat.appId)
}

/** The membership of the innermost place, where the app's own is active too. */
export function placeIn(
  memberships: readonly Membership[],
  tenantId: TenantId | null,
  contextId: ContextId | null,
): Membership | undefined {
  const at = (tenant: TenantId | null, inner: ContextId | null) =>
    memberships.find((each) => each.status === "ACTIVE" && each.tenantId === tenant && each.contextId === inner)
  return at(null, null) && at(tenantId, contextId)
}
