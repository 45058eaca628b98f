// Rules for linking provider accounts to an identity and unlinking them.
import type { Reason } from "../errors.ts"
import type { IdentityId } from "../ids.ts"
import type { Identity, Principal, ProviderAccount, Session } from "../records.ts"
import { principalInactivity } from "./principal.ts"

/** The caller's locked records: a session that ended concurrently is seen as ended. */
interface CallerFacts {
  readonly identity: Pick<Identity, "id" | "status"> | undefined
  readonly principal: Pick<Principal, "status"> | undefined
  readonly session: Pick<Session, "status"> | undefined
}

/** Returns why the caller cannot change the account; undefined if they can. */
export function callerProblem({ identity, principal, session }: CallerFacts): Reason | undefined {
  const inactive = principalInactivity(principal?.status)
  if (inactive !== undefined) return inactive
  if (identity?.status !== "ACTIVE") return "IDENTITY_INACTIVE"
  return session?.status === "ACTIVE" ? undefined : "SESSION_REVOKED"
}

type LinkPlan =
  | { is: "refuse"; reason: Reason }
  /** The account is new: insert it. */
  | { is: "insert" }
  /** It was UNLINKED, or REVOKED and the caller's: link it to the caller. */
  | { is: "link"; account: ProviderAccount }
  /** It is already linked to the caller. */
  | { is: "keep"; account: ProviderAccount }

/**
 * Decides what a proof of an account means for the caller's identity. An account of another identity stays there:
 * identities are never merged. An UNLINKED account goes to the identity that proves it.
 *
 * @param account Found by issuer, subject and provider tenant.
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
 * Decides whether an account can be unlinked.
 *
 * At least one other LINKED account must remain. A BLOCKED account stays blocked: unlinked, any identity could prove
 * and link it.
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
