// Loads and locks the records of a sign-in. A concurrent revocation of account, person or invitation either commits
// first, and the sign-in sees it, or runs afterwards and ends the new session.
import type { Place } from "@signet/kernel/administration/ports"
import type { SignInFacts } from "@signet/kernel/identity/first-login"
import type { LockedSignIn, SignInAuthority } from "@signet/kernel/ports"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { tenantMembershipOf } from "../../place.ts"
import type { Entry } from "./entry.ts"
import { withCurrentAuthority } from "./inviter.ts"

export interface LoadedFacts extends SignInFacts {
  /** The authority at the requested place, of the same instant as its memberships; undefined for an unknown person. */
  readonly authority: SignInAuthority | undefined
}

export async function loadFacts(entry: Entry): Promise<LoadedFacts> {
  const { tx, request, app, client, nowMs } = entry
  const { appId, tenantId, contextId } = request
  const asked = { appId, tenantId, contextId }
  const { place, client: clientStatus = "DISABLED", account, identity, principal } = await lockPerson(entry, asked)
  const invitation = await lockInvitation(entry)
  const authority = principal && (await tx.signIns.findAuthority(principal.id, asked))
  const invitedMembership =
    invitation &&
    principal &&
    (await tx.identities.findMembership(principal.id, app.id, invitation.tenantId, invitation.contextId))
  const aroundInvited =
    invitation && principal && (await tenantMembershipOf(tx, principal.id, { ...invitation, appId: app.id }))
  const asksInside = tenantId !== null || contextId !== null
  return {
    app: { ...app, status: place.app ?? "ARCHIVED" },
    client: { ...client, status: clientStatus },
    account,
    identity,
    principal,
    membership: authority?.outer,
    innerMembership: asksInside ? authority?.inner : null,
    invitation,
    invitedMembership: invitation ? (invitedMembership ?? undefined) : null,
    isSuspendedAround: authority?.around?.status === "SUSPENDED" || aroundInvited?.status === "SUSPENDED",
    cancelDeletion: request.cancelDeletion,
    asked,
    places: invitation ? [place, await tx.places.lockShared(invitation)] : [place],
    nowMs,
    authority,
  }
}

async function lockPerson(entry: Entry, place: Place): Promise<LockedSignIn> {
  const { tx, request, client, vouched } = entry
  const { subject, providerTenant } = vouched
  const account = { provider: request.provider, issuer: client.canonicalIssuer, subject, providerTenant }
  const locked = await tx.signIns.lock({ place, clientId: client.id, account })
  // Another identity linked the account after the look-up.
  if (locked.account !== undefined && locked.account.identityId !== locked.identityId) return lockPerson(entry, place)
  return locked
}

async function lockInvitation({ deps, tx, request }: Entry): Promise<SignInFacts["invitation"]> {
  if (request.invitationCode === "") return null
  const code = parseOpaque("sginv_", request.invitationCode)
  if (code === undefined) return undefined
  return withCurrentAuthority(deps, tx, await tx.invitations.lockByCode(deps.secrets.hashes("invitation", code)))
}
