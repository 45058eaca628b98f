// The store as people need it who look after their own account: more members of Tx.
import type { Place } from "../administration/ports.ts"
import type { Grant } from "../administration/records.ts"
import type { IdentityId, PatId, PrincipalId } from "../ids.ts"
import type { Pat, StandingDelegation } from "../machine/records.ts"
import type { Identity, Principal, Provider, Session } from "../records.ts"

/** What looking after an account adds to a unit of work. */
export interface AccountTx {
  readonly people: People
  readonly passwordHolds: PasswordHolds
}

export interface People {
  /** A person without a way of signing in: made by a command, for whom a personal access token is made. */
  insert(identity: Identity, principal: Principal): Promise<void>
  /** Exact matches, at most so many, in the order of their ids. Nobody who is erased, and no unlinked account's person. */
  find(by: PersonSearch, limit: number): Promise<readonly Principal[]>
  /** Ends every personal access token, in every app. Returns those that were live. */
  endPats(id: PrincipalId, nowMs: number): Promise<readonly PatId[]>
  /** What is kept of a person in all apps, ended or not. */
  records(identityId: IdentityId, principalId: PrincipalId, limit: number): Promise<PersonalRecords>
}

/** Which people are searched for. */
export interface PersonSearch {
  /** An address as `normalizeEmail` gives it, or a provider's subject, of one issuer or of all (null). */
  readonly by:
    | { readonly email: string }
    | { readonly provider: Provider; readonly subject: string; readonly issuer: string | null }
  /** Only people with a live membership of this app, and of its tenant and context if there are. Null: everybody. */
  readonly within: Place | null
}

/** Each newest first, and at most as many as were asked for. */
export interface PersonalRecords {
  readonly sessions: readonly Session[]
  readonly pats: readonly Pat[]
  readonly grants: readonly Grant[]
  readonly delegations: readonly StandingDelegation[]
}

/**
 * Accounts of IDP_C whose password may be a stranger's, by a digest of their key. Held from before the password is
 * replaced until it was: what is interrupted stays held.
 */
export interface PasswordHolds {
  hold(account: Uint8Array, nowMs: number): Promise<void>
  isHeld(account: Uint8Array): Promise<boolean>
  release(account: Uint8Array): Promise<void>
}
