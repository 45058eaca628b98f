import { grantsOwnScopes, mayStillGrant } from "@signet/kernel/administration/inviter"
import type { Invitation } from "@signet/kernel/administration/records"
import type { Tx } from "@signet/kernel/ports"
import type { App } from "@signet/kernel/records"
import type { Deps } from "../../deps.ts"

/** Returns the invitation; undefined if its inviter may no longer grant its scopes. */
export async function withCurrentAuthority(
  { authAudience }: Pick<Deps, "authAudience">,
  tx: Tx,
  invitation: Invitation | undefined,
): Promise<Invitation | undefined> {
  if (invitation === undefined || !grantsOwnScopes(invitation)) return invitation
  const { invitedBy, appId } = invitation
  const apps = [await tx.apps.findApp(appId), await tx.administration.findInstallation()]
  const inviter = {
    principal: await tx.identities.findPrincipal(invitedBy),
    account: await tx.serviceAccounts.findByPrincipal(invitedBy),
    in: await Promise.all(
      apps
        .filter((app): app is App => app !== undefined)
        .map(async (app) => ({ app, memberships: await tx.identities.findMemberships(invitedBy, app.id) })),
    ),
  }
  return mayStillGrant(invitation, inviter, authAudience) ? invitation : undefined
}
