// What fetch, Fastify, port, tool and mailbox have in common: one requirement, decided before what it guards runs.
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
  /** Hears every denial, with its true reason, and who was calling. For the audit. */
  readonly onDeny?: (deny: Deny, caller: AuthContext | Reason) => void
}

/**
 * Whether a call may go on.
 *
 * @param credential The Authorization header, or what stands for it.
 * @param prepare Reads what the requirement names. Called only when the caller is known.
 */
export type Decide<Credential = string | null> = (
  credential: Credential,
  prepare: () => ReadValue | Promise<ReadValue>,
) => Promise<AuthDecision>

/** @throws when the requirement cannot be checked with what the target can read. */
export function createDecide(options: TargetOptions, readable: Readable): Decide {
  return createDecideBy(options, readable, (header: string | null) => options.guard.authenticate(header))
}

/** For a target whose callers are known by something else than a header. */
export function createDecideBy<Credential>(
  options: TargetOptions,
  readable: Readable,
  authenticate: (credential: Credential) => Promise<AuthContext | Reason>,
): Decide<Credential> {
  const { guard, requirement, onDeny } = options
  checkRequirement(requirement, readable)
  const readFacts = factsReader(requirement, options)
  return async (credential, prepare) => {
    // A stale token must not stop a login: nobody looks at it.
    const caller = requirement.is === "public" ? "NO_CREDENTIAL" : await authenticate(credential)
    const facts = typeof caller === "string" ? {} : await readFacts(await prepare())
    const decision = await guard.authorize(caller, requirement, facts)
    if (!decision.allow) onDeny?.(decision, caller)
    return decision
  }
}
