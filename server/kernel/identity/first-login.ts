import type { Reason } from "../errors.ts"
import type { App, Identity, Membership, Principal, ProviderAccount, ProviderClient } from "../records.ts"

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
}

export type SignInPlan =
  | { is: "refuse"; reason: Reason }
  /** Identity, provider account, principal and membership are made. */
  | { is: "newcomer" }
  /** The person is known; only the membership of this app is made. */
  | { is: "join" }
  | { is: "known" }

const refuse = (reason: Reason): SignInPlan => ({ is: "refuse", reason })

/**
 * What a sign-in means for the four records. The account is found by issuer, subject and provider tenant; an email
 * never finds anybody, and a newcomer with a known email is a newcomer.
 */
export function planSignIn(facts: SignInFacts): SignInPlan {
  const { app, client, account, identity, principal, membership, innerMembership } = facts
  if (app.status !== "ACTIVE") return refuse("TENANT_SUSPENDED")
  if (client.status !== "ACTIVE") return refuse("PROVIDER_DISABLED")
  const takesNewPeople = app.settings.signupEnabled && client.signupEnabled
  if (account === undefined) {
    if (!takesNewPeople) return refuse("SIGNUP_DISABLED")
    return innerMembership === null ? { is: "newcomer" } : refuse("MEMBERSHIP_INACTIVE")
  }
  if (account.status === "BLOCKED") return refuse("IDENTITY_INACTIVE")
  if (account.status === "UNLINKED") return refuse("SIGNUP_DISABLED")
  if (identity?.status !== "ACTIVE") return refuse("IDENTITY_INACTIVE")
  if (principal?.status !== "ACTIVE") return refuse("PRINCIPAL_INACTIVE")
  if (innerMembership !== null && innerMembership?.status !== "ACTIVE") return refuse("MEMBERSHIP_INACTIVE")
  if (membership === undefined) return takesNewPeople ? { is: "join" } : refuse("SIGNUP_DISABLED")
  return membership.status === "ACTIVE" ? { is: "known" } : refuse("MEMBERSHIP_INACTIVE")
}

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
