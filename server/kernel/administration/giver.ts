// Who gave an invitation, when it is taken: weeks may lie in between.

import { isInside } from "../authz/administers.ts"
import { scopesHeld } from "../authz/scopes.ts"
import type { ServiceAccount } from "../machine/records.ts"
import type { App, Membership, Principal } from "../records.ts"
import type { Invitation } from "./records.ts"
import { isOwnKey } from "./scopes.ts"

/** Memberships of the giver in one app. */
export interface GiverIn {
  readonly app: App
  readonly memberships: readonly Membership[]
}

/** As the store knows them now. */
export interface Giver {
  readonly principal: Pick<Principal, "status"> | undefined
  /** Of a giver that is a service. */
  readonly account: Pick<ServiceAccount, "status" | "scopes"> | undefined
  /** In the invitation's app, and in the installation's own. */
  readonly in: readonly GiverIn[]
}

/** Whether anybody has to be asked: only scopes of this service are given by who holds them. */
export const isOfGiver = ({ scopes }: Pick<Invitation, "scopes">): boolean => scopes.some(isOwnKey)

/**
 * Whether the invitation may still be taken. Whoever lost a scope of this service gives it no more: invitations would
 * else be the way back in for an administrator who was sent away.
 */
export function isStillGiven(invitation: Invitation, giver: Giver, authAudience: string): boolean {
  const own = invitation.scopes.filter(isOwnKey)
  if (own.length === 0) return true
  if (giver.principal?.status !== "ACTIVE") return false
  const held = new Set(giver.in.flatMap((there) => heldIn(there, invitation, giver.account, authAudience)))
  return own.every((key) => held.has(key))
}

function heldIn(
  { app, memberships }: GiverIn,
  invitation: Invitation,
  account: Giver["account"],
  authAudience: string,
): readonly string[] {
  const active = memberships.filter(({ status }) => status === "ACTIVE")
  const isOfApp = active.some(isWhole)
  // A service is a member where its account is, and of a tenant's account that is the tenant alone.
  if (!isOfApp && account === undefined) return []
  if (account !== undefined && account.status !== "ACTIVE") return []
  return active
    .filter((each) => (app.isInstallation ? isWhole(each) : isInside(invitation, each)))
    .flatMap((each) => scopesHeld(app, account ? { ...each, scopes: account.scopes } : each, authAudience))
}

const isWhole = ({ tenantId, contextId }: Membership): boolean => tenantId === null && contextId === null
