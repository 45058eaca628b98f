import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { ContextId, TenantId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import type { Membership } from "@signet/kernel/records"
import { buildServiceClaims } from "@signet/kernel/token/machine-claims"
import { narrowed } from "@signet/kernel/token/narrow"
import { auditEvent } from "../audit.ts"
import { isPlaceOpen } from "../place.ts"
import type { Client } from "./authenticate-client.ts"
import type { TokenDeps } from "./deps.ts"
import { type IssuedToken, issued, issueOf } from "./issued.ts"
import { refusal } from "./refuse.ts"

export interface ClientCredentialsCall {
  audience: string
  scopes: readonly string[]
  tenantId: TenantId | null
  contextId: ContextId | null
}

/** A service's own token. Asking for more scopes than there are to give is no error: the answer says what was given. */
export async function clientCredentials(
  deps: TokenDeps,
  context: HandlerContext,
  tx: Tx,
  client: Client,
  call: ClientCredentialsCall,
): Promise<IssuedToken | Refused> {
  const { account, app, versions } = client
  const nowMs = deps.clock.nowMs()
  if (account.allowedAudiences.length === 0) return refusal("CLIENT_NOT_ALLOWED")
  if (!account.allowedAudiences.includes(call.audience)) return refusal("AUDIENCE_NOT_ALLOWED", { field: "audience" })
  const ofAudience = app.scopes.filter(({ audience }) => audience === call.audience).map(({ key }) => key)
  const scopes = narrowed(call.scopes, account.defaultScopes, account.scopes, ofAudience)
  if (scopes === undefined) return refusal("SCOPE_NOT_GRANTED", { field: "scope" })
  const tenantId = await placeOfOwn(tx, client, call)
  if (tenantId instanceof Refused) return tenantId
  const claims = buildServiceClaims({
    ...issueOf(deps, nowMs, { audience: call.audience, scopes, versions, lifetimeSeconds: deps.accessTokenSeconds }),
    account,
    tenantId,
    contextId: call.contextId,
    credentialId: client.credentialId,
  })
  await tx.audit.append(
    auditEvent(deps, context, nowMs, {
      kind: "token.issued",
      appId: account.appId,
      tenantId,
      contextId: call.contextId,
      actorPrincipalId: account.principalId,
      subjectPrincipalId: account.principalId,
      target: { type: "token", id: claims.jti },
    }),
  )
  return issued(deps, context, claims)
}

/** The tenant that a service acts in for itself: it is a member there, and the place is open. */
export async function placeOfOwn(
  tx: Tx,
  { account, app }: Client,
  call: Pick<ClientCredentialsCall, "tenantId" | "contextId">,
): Promise<TenantId | null | Refused> {
  if (account.tenantId !== null && call.tenantId !== null && call.tenantId !== account.tenantId) {
    return refusal("TENANT_MISMATCH")
  }
  const tenantId = call.tenantId ?? account.tenantId
  const memberships = await tx.identities.findMemberships(account.principalId, account.appId)
  if (!isMember(memberships, tenantId, call.contextId)) return refusal("MEMBERSHIP_INACTIVE")
  const place = { appId: account.appId, tenantId, contextId: call.contextId }
  return (await isPlaceOpen(tx, app.status, place)) ? tenantId : refusal("TENANT_SUSPENDED")
}

/** Active exactly there, and not suspended in the tenant; a place in the tenant is no place in each of its contexts. */
function isMember(memberships: readonly Membership[], tenantId: TenantId | null, contextId: ContextId | null): boolean {
  const isThere = (status: Membership["status"], context: ContextId | null) =>
    memberships.some((each) => each.status === status && each.tenantId === tenantId && each.contextId === context)
  return isThere("ACTIVE", contextId) && !isThere("SUSPENDED", null)
}
