// Rechecks the inviter's authority when an invitation is accepted, which can be weeks after it was issued.

import { isInside } from "../authz/admin-reach.ts"
import { scopesHeld } from "../authz/scopes.ts"
import type { ServiceAccount } from "../machine/records.ts"
import type { App, Membership, Principal } from "../records.ts"
import type { Invitation } from "./records.ts"
import { isOwnKey, mayAdd } from "./scopes.ts"

/** Memberships of the inviter in one app. */
interface InviterIn {
  readonly app: App
  readonly memberships: readonly Membership[]
}

/** Current state of the inviter, as stored. */
export interface Inviter {
  readonly principal: Pick<Principal, "status"> | undefined
  /** Set if the inviter is a service. */
  readonly account: Pick<ServiceAccount, "status" | "scopes"> | undefined
  /** Memberships in the invitation's app and in the installation's app. */
  readonly in: readonly InviterIn[]
}

/** True if the inviter must be rechecked: only a holder of this service's own scopes may grant them. */
export const grantsOwnScopes = ({ scopes }: Pick<Invitation, "scopes">): boolean => scopes.some(isOwnKey)

/**
 * True if the inviter still holds every scope of this service that the invitation grants.
 *
 * Without this check, a removed administrator could regain access through an invitation issued earlier.
 */
export function mayStillGrant(invitation: Invitation, inviter: Inviter, authAudience: string): boolean {
  const own = invitation.scopes.filter(isOwnKey)
  if (own.length === 0) return true
  if (inviter.principal?.status !== "ACTIVE") return false
  const held = new Set(inviter.in.flatMap((there) => heldIn(there, invitation, inviter.account, authAudience)))
  return own.every((key) => mayAdd(key, held))
}

function heldIn(
  { app, memberships }: InviterIn,
  invitation: Invitation,
  account: Inviter["account"],
  authAudience: string,
): readonly string[] {
  const active = memberships.filter(({ status }) => status === "ACTIVE")
  const isOfApp = active.some(isWhole)
  // A service is a member where its account is. For an account of a tenant that is the tenant only, not the app.
  if (!isOfApp && account === undefined) return []
  if (account !== undefined && account.status !== "ACTIVE") return []
  return active
    .filter((each) => (app.isInstallation ? isWhole(each) : isInside(invitation, each)))
    .flatMap((each) => scopesHeld(app, account ? { ...each, scopes: account.scopes } : each, authAudience))
}

const isWhole = ({ tenantId, contextId }: Membership): boolean => tenantId === null && contextId === null
