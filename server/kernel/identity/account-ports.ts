// Store interface for account self-service, as members of Tx.
import type { Place } from "../administration/ports.ts"
import type { Grant } from "../administration/records.ts"
import type { IdentityId, PatId, PrincipalId } from "../ids.ts"
import type { Pat, StandingDelegation } from "../machine/records.ts"
import type { Identity, Principal, Provider, Session } from "../records.ts"

/** The stores that account self-service adds to a transaction. */
export interface AccountTx {
  readonly people: People
  readonly passwordHolds: PasswordHolds
}

export interface People {
  /** Inserts a user without a provider account: a command creates one that signs in only by personal access token. */
  insert(identity: Identity, principal: Principal): Promise<void>
  /** Exact matches in order of id, at most `limit`. Excludes erased users and unlinked accounts. */
  find(by: PersonSearch, limit: number): Promise<readonly Principal[]>
  /** Revokes every personal access token of the user in every app. Returns those that were live. */
  endPats(id: PrincipalId, nowMs: number): Promise<readonly PatId[]>
  /** The user's records in all apps, ended ones included. */
  records(identityId: IdentityId, principalId: PrincipalId, limit: number): Promise<PersonalRecords>
}

/** A search for users. */
export interface PersonSearch {
  /** Either an address as `normalizeEmail` returns it, or a provider's subject at one issuer (null: at any). */
  readonly by:
    | { readonly email: string }
    | { readonly provider: Provider; readonly subject: string; readonly issuer: string | null }
  /**
   * Limits the search to users with a live membership of this app, and of its tenant and context if given. Null: all
   * users.
   */
  readonly within: Place | null
}

/** Each list is newest first and limited to the requested number. */
interface PersonalRecords {
  readonly sessions: readonly Session[]
  readonly pats: readonly Pat[]
  readonly grants: readonly Grant[]
  readonly delegations: readonly StandingDelegation[]
}

/**
 * Accounts of IDP_C whose password may have been set by someone else, identified by a digest of the account key. A hold
 * starts before the password is replaced and ends afterwards, so an interrupted replacement stays held.
 */
export interface PasswordHolds {
  hold(account: Uint8Array, nowMs: number): Promise<void>
  isHeld(account: Uint8Array): Promise<boolean>
  release(account: Uint8Array): Promise<void>
}
