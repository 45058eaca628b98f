import type { PlaceFacts } from "../administration/ports.ts"
import type { Invitation } from "../administration/records.ts"
import { isOpen } from "../authz/liveness.ts"
import type { Reason } from "../errors.ts"
import type { ContextId, TenantId } from "../ids.ts"
import type { App, Identity, Membership, Principal, ProviderAccount, ProviderClient } from "../records.ts"
import { principalInactivity } from "./principal.ts"

/** What the store knows of the person whom a provider vouched for. */
export interface SignInFacts {
  app: App
  client: ProviderClient
  account: ProviderAccount | undefined
  identity: Identity | undefined
  principal: Principal | undefined
  /** Of the app as a whole. */
  membership: Membership | undefined
  /** Of the tenant and context that were asked for; null when none was. */
  innerMembership: Membership | undefined | null
  /** What the code that came with the sign-in stands for; undefined for an unknown one, null when none came. */
  invitation: Invitation | undefined | null
  /** At the place that the invitation is for; null when none came. */
  invitedMembership: Membership | undefined | null
  /** A place that was asked for, or that the invitation is for, is in a tenant where the person is suspended. */
  isSuspendedAround: boolean
  /** An account that is about to be deleted is to be kept. */
  cancelDeletion: boolean
  /** The tenant and context that were asked for. */
  asked: InnerPlace
  /** What was asked for, and what the invitation is for: where app, tenant and context stand. */
  places: readonly PlaceFacts[]
  nowMs: number
}

export type SignInPlan =
  | { is: "refuse"; reason: Reason }
  /** Identity, provider account and principal are made; then the plan is made again. */
  | { is: "newcomer" }
  | {
      is: "enter"
      /** The person is known to others; the membership of the app as a whole is made. */
      joins: boolean
      /** The deletion of the identity is called off. */
      cancelsDeletion: boolean
      /** The invitation that is taken. */
      takes: Invitation | null
    }

const refuse = (reason: Reason): SignInPlan => ({ is: "refuse", reason })

/** Who is a member no more, or never was one, may be asked again. */
const ended: readonly Membership["status"][] = ["REMOVED", "DECLINED", "REJECTED", "EXPIRED"]

/**
 * What a sign-in means for the four records. The account is found by issuer, subject and provider tenant; an email
 * never finds anybody, and a newcomer with a known email is a newcomer.
 *
 * An account that was unlinked makes no second identity and is nobody's way in: it is refused as a newcomer of a closed
 * app is, whose identity it was being nobody's business. An invitation lets in who would not be let in; it lifts no
 * suspension.
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

/** An invitation is taken once, in time, in its app, and by whom it names if it names anybody. */
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

/** A member of the place that was asked for, or becoming one by the invitation. */
function isInside({ innerMembership, invitation, asked }: SignInFacts): boolean {
  if (innerMembership === null || innerMembership?.status === "ACTIVE") return true
  return invitation != null && isAt(invitation, asked)
}

/** Whether the invitation makes this membership an active one. */
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

/** What an address is counted and looked up by: one for every way of writing it that a provider takes for the same. */
export function emailKey(email: string): string {
  return Array.from(email.normalize("NFKC").trim(), lowerCased).join("")
}

/**
 * The simple mapping of Unicode, which providers look addresses up by. JavaScript's own makes two characters of İ (U+0130)
 * and two letters of Σ by its place, so one address would be counted as several.
 */
const lowerCased = (character: string): string => String.fromCodePoint(character.toLowerCase().codePointAt(0) ?? 0)

/**
 * An address as it is kept: NFKC, the domain in lower case; null when it is no address.
 *
 * Contact only. Nothing is ever found or linked by it.
 */
export function normalizeEmail(email: string | null): string | null {
  if (email === null || email.length > 320) return null
  // Judged as it will be kept: normalising can lengthen a text, and make spaces that were none.
  const normal = email.normalize("NFKC").trim()
  const parts = normal.split("@")
  const [local, domain] = parts
  if (parts.length !== 2 || !local || !domain || normal.length > 320 || /[\s\p{Cc}]/u.test(normal)) return null
  return `${local}@${domain.toLowerCase()}`
}

/**
 * The address that a provider vouched for; null when it vouched for none. What normalization would change is another
 * mailbox than the one that was verified.
 */
export function verifiedEmail(email: string | null, isVerified: boolean): string | null {
  return isVerified && email !== null && email === email.normalize("NFKC").trim() ? normalizeEmail(email) : null
}
