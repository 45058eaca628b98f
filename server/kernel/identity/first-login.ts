import type { PlaceFacts } from "../administration/ports.ts"
import type { Invitation } from "../administration/records.ts"
import { isOpen } from "../authz/liveness.ts"
import type { Reason } from "../errors.ts"
import type { ContextId, TenantId } from "../ids.ts"
import type { App, Identity, Membership, Principal, ProviderAccount, ProviderClient } from "../records.ts"
import { principalInactivity } from "./principal.ts"

/** The stored records about the account that a provider vouched for. */
export interface SignInFacts {
  app: App
  client: ProviderClient
  account: ProviderAccount | undefined
  identity: Identity | undefined
  principal: Principal | undefined
  /** Membership of the whole app. */
  membership: Membership | undefined
  /** Membership of the requested tenant and context; null if none was requested. */
  innerMembership: Membership | undefined | null
  /** The invitation of the presented code; undefined for an unknown code, null if there was none. */
  invitation: Invitation | undefined | null
  /** Membership at the invitation's place; null if there was no code. */
  invitedMembership: Membership | undefined | null
  /** The user is suspended in the tenant around the requested place or the invitation's place. */
  isSuspendedAround: boolean
  /** The request cancels a pending deletion. */
  cancelDeletion: boolean
  /** The requested tenant and context. */
  asked: InnerPlace
  /** Status of app, tenant and context for the request and for the invitation. */
  places: readonly PlaceFacts[]
  nowMs: number
}

export type SignInPlan =
  | { is: "refuse"; reason: Reason }
  /** Create identity, provider account and principal, then plan again. */
  | { is: "newcomer" }
  | {
      is: "enter"
      /** The user exists already; create the membership of the app. */
      joins: boolean
      /** The sign-in cancels the identity's deletion. */
      cancelsDeletion: boolean
      /** The invitation that is accepted. */
      takes: Invitation | null
    }

const refuse = (reason: Reason): SignInPlan => ({ is: "refuse", reason })

/** Memberships that do not prevent a new invitation. */
const ended: readonly Membership["status"][] = ["REMOVED", "DECLINED", "REJECTED", "EXPIRED"]

/**
 * Decides what a sign-in does to identity, account, principal and memberships. The account is found by issuer, subject
 * and provider tenant, never by email.
 *
 * An unlinked account neither signs in nor creates a second identity. It gets the same refusal as a closed app, which
 * does not reveal the former identity. An invitation replaces open signup and lifts no suspension.
 */
export function planSignIn(facts: SignInFacts): SignInPlan {
  const { app, client, account, identity, principal, membership, innerMembership, invitation } = facts
  if (app.status !== "ACTIVE") return refuse("TENANT_SUSPENDED")
  if (client.status !== "ACTIVE") return refuse("PROVIDER_DISABLED")
  if (account?.status === "BLOCKED") return refuse("IDENTITY_INACTIVE")
  if (account?.status === "UNLINKED") return refuse("SIGNUP_DISABLED")
  if (invitation !== null && !isGood(invitation, facts)) return refuse("INVITATION_INVALID")
  const isLetIn = invitation !== null || (app.settings.signupEnabled && client.signupEnabled)
  if (account === undefined) {
    if (!isLetIn) return refuse("SIGNUP_DISABLED")
    return isInside(facts) ? judgePlaces(facts, { is: "newcomer" }) : refuse("MEMBERSHIP_INACTIVE")
  }
  const isLeaving = identity?.status === "DELETION_PENDING"
  if (isLeaving && !facts.cancelDeletion) return refuse("IDENTITY_DELETION_PENDING")
  if (!isLeaving && identity?.status !== "ACTIVE") return refuse("IDENTITY_INACTIVE")
  const inactive = principalInactivity(principal?.status)
  if (inactive !== undefined) return refuse(inactive)
  if (innerMembership?.status === "SUSPENDED" || !isInside(facts)) return refuse("MEMBERSHIP_INACTIVE")
  if (facts.invitedMembership?.status === "SUSPENDED" || facts.isSuspendedAround) return refuse("MEMBERSHIP_INACTIVE")
  const joins = membership === undefined || (invitation !== null && ended.includes(membership.status))
  if (joins && !isLetIn) return refuse("SIGNUP_DISABLED")
  if (!joins && membership.status !== "ACTIVE" && !isOffered(membership, invitation)) {
    return refuse("MEMBERSHIP_INACTIVE")
  }
  return judgePlaces(facts, { is: "enter", joins, cancelsDeletion: isLeaving, takes: invitation ?? null })
}

/** True if the invitation is pending, not expired, of this app, and not reserved for another principal. */
export function isGood(
  invitation: Invitation | undefined,
  { app, principal, nowMs }: { app: Pick<App, "id">; principal: Pick<Principal, "id"> | undefined; nowMs: number },
): invitation is Invitation {
  return (
    invitation !== undefined &&
    invitation.status === "PENDING" &&
    nowMs < invitation.expiresAtMs &&
    invitation.appId === app.id &&
    (invitation.principalId === null || invitation.principalId === principal?.id)
  )
}

/** True if the user is a member at the requested place or becomes one by the invitation. */
function isInside({ innerMembership, invitation, asked }: SignInFacts): boolean {
  if (innerMembership === null || innerMembership?.status === "ACTIVE") return true
  return invitation != null && isAt(invitation, asked)
}

/** True if the invitation activates this membership. */
function isOffered(membership: Membership, invitation: Invitation | undefined | null): boolean {
  const isWaiting = membership.status === "INVITED" || membership.status === "REQUESTED"
  return isWaiting && invitation != null && isAt(invitation, membership)
}

interface InnerPlace {
  tenantId: TenantId | null
  contextId: ContextId | null
}

const isAt = (a: InnerPlace, b: InnerPlace): boolean => a.tenantId === b.tenantId && a.contextId === b.contextId

function judgePlaces({ places }: SignInFacts, plan: SignInPlan): SignInPlan {
  return places.every(isOpen) ? plan : refuse("TENANT_SUSPENDED")
}

/** The key for lookups and rate limits of an address: equal for spellings that a provider treats as the same address. */
export function emailKey(email: string): string {
  return Array.from(email.normalize("NFKC").trim(), lowerCased).join("")
}

/**
 * Unicode's simple lower-case mapping, which providers use for lookups. JavaScript's toLowerCase turns İ (U+0130) into
 * two characters and maps Σ by context, which would give one address several keys.
 */
const lowerCased = (character: string): string => String.fromCodePoint(character.toLowerCase().codePointAt(0) ?? 0)

/**
 * Returns the stored form of an address: NFKC with the domain in lower case; null if invalid.
 *
 * For contact only: no account is found or linked by it.
 */
export function normalizeEmail(email: string | null): string | null {
  if (email === null || email.length > 320) return null
  // Validate after normalization, which can lengthen the text and create spaces.
  const normal = email.normalize("NFKC").trim()
  const parts = normal.split("@")
  const [local, domain] = parts
  if (parts.length !== 2 || !local || !domain || normal.length > 320 || /[\s\p{Cc}]/u.test(normal)) return null
  return `${local}@${domain.toLowerCase()}`
}

/**
 * Returns the address that a provider verified; null if it verified none. An address that normalization changes is
 * rejected: the result would be another mailbox.
 */
export function verifiedEmail(email: string | null, isVerified: boolean): string | null {
  return isVerified && email !== null && email === email.normalize("NFKC").trim() ? normalizeEmail(email) : null
}
