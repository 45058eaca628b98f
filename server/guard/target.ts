// Common parts of fetch, Fastify, port, tool and mailbox: one requirement, decided before the guarded code runs.
import type { AuthDecision, Deny } from "@signet/kernel/authz/authorize"
import type { AuthContext } from "@signet/kernel/authz/context"
import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Reason } from "@signet/kernel/errors"
import { checkRequirement, type Readable } from "./check-requirement.ts"
import type { Guard } from "./guard.ts"
import { factsReader, type ReadValue, type TargetFacts } from "./request-values.ts"

export interface TargetOptions extends TargetFacts {
  readonly guard: Guard
  /** Built in code, or `requirementOf` a method of the contract. */
  readonly requirement: Requirement
  /** Called for every denial, with its true reason and the caller, for the audit log. */
  readonly onDeny?: (deny: Deny, caller: AuthContext | Reason) => void
}

/**
 * Decides whether a call may continue.
 *
 * @param credential The Authorization header or its equivalent.
 * @param prepare Reads the values that the requirement names. Called only if the caller is known.
 */
type Decide<Credential = string | null> = (
  credential: Credential,
  prepare: () => ReadValue | Promise<ReadValue>,
) => Promise<AuthDecision>

/** @throws Error if the requirement cannot be checked with the values that the target can read. */
export function createDecide(options: TargetOptions, readable: Readable): Decide {
  return createDecideBy(options, readable, (header: string | null) => options.guard.authenticate(header))
}

/** For a target that identifies callers by something other than a header. */
export function createDecideBy<Credential>(
  options: TargetOptions,
  readable: Readable,
  authenticate: (credential: Credential) => Promise<AuthContext | Reason>,
): Decide<Credential> {
  const { guard, requirement, onDeny } = options
  checkRequirement(requirement, readable)
  const readFacts = factsReader(requirement, options)
  return async (credential, prepare) => {
    // A public route ignores the token, so that a stale one cannot prevent a login.
    const caller = requirement.is === "public" ? "NO_CREDENTIAL" : await authenticate(credential)
    const facts = typeof caller === "string" ? {} : await readFacts(await prepare())
    const decision = await guard.authorize(caller, requirement, facts)
    if (!decision.allow) onDeny?.(decision, caller)
    return decision
  }
}
