// Loads and locks the records of a sign-in. A concurrent revocation of account, person or invitation either commits
// first, and the sign-in sees it, or runs afterwards and ends the new session.
import type { Place } from "@signet/kernel/administration/ports"
import type { SignInFacts } from "@signet/kernel/identity/first-login"
import type { LockedSignIn, SignInAuthority, SignInRecords } from "@signet/kernel/ports"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { tenantMembershipOf } from "../../place.ts"
import { accountKeyOf } from "./account.ts"
import type { Entry, VouchedSignIn } from "./entry.ts"
import { withCurrentAuthority } from "./inviter.ts"

export interface LoadedFacts extends SignInFacts {
  /** The authority at the requested place, of the same instant as its memberships; undefined for an unknown person. */
  readonly authority: SignInAuthority | undefined
}

export async function loadFacts(entry: Entry): Promise<LoadedFacts> {
  const { tx, app } = entry
  const asked = placeOf(entry)
  const locked = await lockPerson(entry, asked)
  const { place, principal } = locked
  const invitation = await lockInvitation(entry)
  const authority = principal && (await tx.signIns.findAuthority(principal.id, asked))
  const facts = factsOf(entry, locked, authority)
  if (invitation === null) return facts
  const invitedMembership =
    invitation &&
    principal &&
    (await tx.identities.findMembership(principal.id, app.id, invitation.tenantId, invitation.contextId))
  const aroundInvited =
    invitation && principal && (await tenantMembershipOf(tx, principal.id, { ...invitation, appId: app.id }))
  return {
    ...facts,
    invitation,
    invitedMembership: invitation ? (invitedMembership ?? undefined) : null,
    isSuspendedAround: facts.isSuspendedAround || aroundInvited?.status === "SUSPENDED",
    places: invitation ? [place, await tx.places.lockShared(invitation)] : [place],
  }
}

/** The facts without locks, for a sign-in without an invitation. They may have changed since. */
export async function findFacts(signIn: VouchedSignIn): Promise<LoadedFacts> {
  const of = { place: placeOf(signIn), clientId: signIn.client.id, account: accountKeyOf(signIn) }
  const { authority, ...records } = await signIn.deps.store.signIns.find(of)
  return factsOf(signIn, records, authority)
}

function factsOf(
  { request, app, client, nowMs }: VouchedSignIn,
  { place, client: clientStatus = "DISABLED", account, identity, principal }: SignInRecords,
  authority: SignInAuthority | undefined,
): LoadedFacts {
  const { tenantId, contextId } = request
  const asksInside = tenantId !== null || contextId !== null
  return {
    app: { ...app, status: place.app ?? "ARCHIVED" },
    client: { ...client, status: clientStatus },
    account,
    identity,
    principal,
    membership: authority?.outer,
    innerMembership: asksInside ? authority?.inner : null,
    invitation: null,
    invitedMembership: null,
    isSuspendedAround: authority?.around?.status === "SUSPENDED",
    cancelDeletion: request.cancelDeletion,
    asked: { tenantId, contextId },
    places: [place],
    nowMs,
    authority,
  }
}

const placeOf = ({ request: { appId, tenantId, contextId } }: VouchedSignIn): Place => ({ appId, tenantId, contextId })

async function lockPerson(entry: Entry, place: Place): Promise<LockedSignIn> {
  const locked = await entry.tx.signIns.lock({ place, clientId: entry.client.id, account: accountKeyOf(entry) })
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
