// Ways of signing in, added to an identity and taken off it.
import type { Reason } from "../errors.ts"
import type { IdentityId } from "../ids.ts"
import type { Identity, Principal, ProviderAccount, Session } from "../records.ts"
import { principalInactivity } from "./principal.ts"

/** The caller as the store knows them now, locked: whoever ended the session comes before, and is seen. */
export interface CallerFacts {
  readonly identity: Pick<Identity, "id" | "status"> | undefined
  readonly principal: Pick<Principal, "status"> | undefined
  readonly session: Pick<Session, "status"> | undefined
}

/** Why the caller may change nothing of their account; undefined when they may. */
export function callerProblem({ identity, principal, session }: CallerFacts): Reason | undefined {
  const inactive = principalInactivity(principal?.status)
  if (inactive !== undefined) return inactive
  if (identity?.status !== "ACTIVE") return "IDENTITY_INACTIVE"
  return session?.status === "ACTIVE" ? undefined : "SESSION_REVOKED"
}

export type LinkPlan =
  | { is: "refuse"; reason: Reason }
  /** There is no such account: it is made. */
  | { is: "insert" }
  /** It was UNLINKED, or REVOKED and the caller's: it is LINKED to the caller. */
  | { is: "link"; account: ProviderAccount }
  /** It is the caller's, and linked. */
  | { is: "keep"; account: ProviderAccount }

/**
 * What proving an account means for the identity that asks. An account of another identity stays there, whatever it
 * shares with this one: identities are never merged. One that was unlinked belongs to whoever proves it.
 *
 * @param account What is found by issuer, subject and provider tenant.
 */
export function planLink(account: ProviderAccount | undefined, identityId: IdentityId): LinkPlan {
  if (account === undefined) return { is: "insert" }
  if (account.status === "UNLINKED") return { is: "link", account }
  if (account.identityId !== identityId) return { is: "refuse", reason: "PROVIDER_ACCOUNT_IN_USE" }
  switch (account.status) {
    case "LINKED":
      return { is: "keep", account }
    case "REVOKED":
      return { is: "link", account }
    case "BLOCKED":
      return { is: "refuse", reason: "STATE_CONFLICT" }
  }
}

/**
 * What taking an account off its identity means.
 *
 * Another one that works must stay. A blocked one stays blocked: unlinked, it would be anybody's who proves it.
 *
 * @param accounts Every account of the caller's identity.
 */
export function planUnlink(
  account: ProviderAccount | undefined,
  accounts: readonly ProviderAccount[],
  identityId: IdentityId,
): "unlink" | "keep" | Reason {
  if (account === undefined || account.identityId !== identityId) return "NOT_FOUND"
  if (account.status === "UNLINKED") return "keep"
  if (account.status === "BLOCKED") return "STATE_CONFLICT"
  const isLast = !accounts.some(({ id, status }) => id !== account.id && status === "LINKED")
  return isLast ? "LAST_LOGIN_METHOD" : "unlink"
}
