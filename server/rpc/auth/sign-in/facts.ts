// Loads and locks the records of a sign-in. A concurrent revocation of account, person or invitation either commits
// first, and the sign-in sees it, or runs afterwards and ends the new session.
import type { Place } from "@signet/kernel/administration/ports"
import type { SignInFacts } from "@signet/kernel/identity/first-login"
import type { Identity, Principal, ProviderAccount } from "@signet/kernel/records"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { tenantMembershipOf } from "../../place.ts"
import type { Entry } from "./entry.ts"
import { withCurrentAuthority } from "./inviter.ts"

export async function loadFacts(entry: Entry): Promise<SignInFacts> {
  const { tx, request, app, client, nowMs } = entry
  const { appId, tenantId, contextId } = request
  const asked = { appId, tenantId, contextId }
  const place = await tx.places.lockShared(asked)
  const clientStatus = (await tx.apps.lockSharedProviderClient(client.id)) ?? "DISABLED"
  const { account, identity, principal } = await lockPerson(entry)
  const invitation = await lockInvitation(entry)
  const membershipAt = async (at: Place) =>
    principal && (await tx.identities.findMembership(principal.id, app.id, at.tenantId, at.contextId))
  const around = await Promise.all(
    [asked, ...(invitation ? [invitation] : [])].map(
      async (at) => principal && (await tenantMembershipOf(tx, principal.id, { ...at, appId: app.id })),
    ),
  )
  const asksInside = tenantId !== null || contextId !== null
  return {
    app: { ...app, status: place.app ?? "ARCHIVED" },
    client: { ...client, status: clientStatus },
    account,
    identity,
    principal,
    membership: await membershipAt({ appId, tenantId: null, contextId: null }),
    innerMembership: asksInside ? await membershipAt(asked) : null,
    invitation,
    invitedMembership: invitation ? await membershipAt(invitation) : null,
    isSuspendedAround: around.some((membership) => membership?.status === "SUSPENDED"),
    cancelDeletion: request.cancelDeletion,
    asked,
    places: invitation ? [place, await tx.places.lockShared(invitation)] : [place],
    nowMs,
  }
}

type Person = {
  account: ProviderAccount | undefined
  identity: Identity | undefined
  principal: Principal | undefined
}

async function lockPerson(entry: Entry): Promise<Person> {
  const { tx, request, client, vouched } = entry
  const { subject, providerTenant } = vouched
  const key = { provider: request.provider, issuer: client.canonicalIssuer, subject, providerTenant }
  const found = await tx.identities.findAccount(key)
  if (found === undefined) return { account: undefined, identity: undefined, principal: undefined }
  const identity = await tx.accounts.lockIdentity(found.identityId)
  const principal = await tx.identities.lockUserPrincipal(found.identityId)
  const account = await tx.accounts.lockAccount(found.id)
  // Another identity linked the account after the look-up.
  if (account !== undefined && account.identityId !== found.identityId) return lockPerson(entry)
  return { account, identity, principal }
}

async function lockInvitation({ deps, tx, request }: Entry): Promise<SignInFacts["invitation"]> {
  if (request.invitationCode === "") return null
  const code = parseOpaque("sginv_", request.invitationCode)
  if (code === undefined) return undefined
  return withCurrentAuthority(deps, tx, await tx.invitations.lockByCode(deps.secrets.hashes("invitation", code)))
}
