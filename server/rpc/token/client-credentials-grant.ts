import type { AuditEvent } from "@signet/kernel/audit/event"
import { isOpen } from "@signet/kernel/authz/liveness"
import { Refused } from "@signet/kernel/errors"
import type { ContextId, TenantId } from "@signet/kernel/ids"
import type { ClientFacts } from "@signet/kernel/machine/ports"
import type { AccessTokenClaims } from "@signet/kernel/token/claims"
import { buildServiceClaims } from "@signet/kernel/token/machine-claims"
import { narrowScopes } from "@signet/kernel/token/narrow-scopes"
import type { Facts } from "../audit/audit.ts"
import type { Client } from "./authenticate-client.ts"
import type { TokenDeps } from "./deps.ts"
import { issueOf } from "./issued.ts"
import { refusal } from "./refuse.ts"

export interface ClientCredentialsCall {
  audience: string
  scopes: readonly string[]
  tenantId: TenantId | null
  contextId: ContextId | null
}

/** The claims of a service's own token, and its audit event. */
export interface OwnGrant {
  claims: AccessTokenClaims
  event: Facts
}

/**
 * Grants a service's own token. Excess scopes are no error: the answer names the granted ones (RFC 6749 section 3.3).
 */
export function clientCredentials(
  deps: TokenDeps,
  client: Client,
  call: ClientCredentialsCall,
  nowMs: number,
): OwnGrant | Refused {
  const { account, app, versions } = client
  if (account.allowedAudiences.length === 0) return refusal("CLIENT_NOT_ALLOWED")
  if (!account.allowedAudiences.includes(call.audience)) return refusal("AUDIENCE_NOT_ALLOWED", { field: "audience" })
  const ofAudience = app.scopes.filter(({ audience }) => audience === call.audience).map(({ key }) => key)
  const scopes = narrowScopes(call.scopes, account.defaultScopes, account.scopes, ofAudience)
  if (scopes === undefined) return refusal("SCOPE_NOT_GRANTED", { field: "scope" })
  const tenantId = placeOfOwn(client, call)
  if (tenantId instanceof Refused) return tenantId
  const claims = buildServiceClaims({
    ...issueOf(deps, nowMs, { audience: call.audience, scopes, versions, lifetimeSeconds: deps.accessTokenSeconds }),
    account,
    tenantId,
    contextId: call.contextId,
    credentialId: client.credentialId,
  })
  return { claims, event: eventOf(client, claims, { tenantId, contextId: call.contextId }, "token") }
}

/** The event of a token that was issued to a service for itself. */
export const eventOf = (
  { account }: Client,
  claims: AccessTokenClaims,
  place: Pick<AuditEvent, "tenantId" | "contextId">,
  type: "token" | "context_token",
): Facts => ({
  kind: "token.issued",
  appId: account.appId,
  ...place,
  actorPrincipalId: account.principalId,
  subjectPrincipalId: account.principalId,
  target: { type, id: claims.jti },
})

/** The tenant in which a service acts for itself. The service must be a member of the open place. */
export function placeOfOwn(
  { account, memberships, place }: Client,
  { tenantId, contextId }: Pick<ClientCredentialsCall, "tenantId" | "contextId">,
): TenantId | null | Refused {
  if (account.tenantId !== null && tenantId !== null && tenantId !== account.tenantId) {
    return refusal("TENANT_MISMATCH")
  }
  if (!isMember(memberships, place.tenantId, contextId)) return refusal("MEMBERSHIP_INACTIVE")
  return isOpen(place.facts) ? place.tenantId : refusal("TENANT_SUSPENDED")
}

/**
 * True for an active membership exactly at the place, not suspended in its tenant. A membership of a tenant covers none
 * of its contexts.
 */
function isMember(
  memberships: ClientFacts["memberships"],
  tenantId: TenantId | null,
  contextId: ContextId | null,
): boolean {
  const isThere = (status: ClientFacts["memberships"][number]["status"], context: ContextId | null) =>
    memberships.some((each) => each.status === status && each.tenantId === tenantId && each.contextId === context)
  return isThere("ACTIVE", contextId) && !isThere("SUSPENDED", null)
}
