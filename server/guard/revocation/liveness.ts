import type { AuthContext } from "@signet/kernel/authz/context"
import { type Liveness, sessionOf } from "@signet/kernel/authz/liveness"
import type { Liveness as LivenessPort, LivenessQuestion } from "@signet/kernel/authz/liveness-ports"
import type { Clock } from "@signet/kernel/ports"

/**
 * Determines whether the caller's principal, session, credential and membership are active. Throws if that is unknown.
 */
export type FindLiveness = (context: AuthContext) => Promise<Liveness>

/** Reads liveness from a store with current data. */
export function createLiveness(port: LivenessPort, clock: Clock): FindLiveness {
  return async (context) => {
    // Taken before the query: changes during it may be missing from the result.
    const asOfMs = clock.nowMs()
    const facts = await port.find(livenessQuestion(context, asOfMs))
    return { facts, asOfMs }
  }
}

/** What a store is asked about a token's caller. */
export const livenessQuestion = (context: AuthContext, nowMs: number): LivenessQuestion => ({
  principalId: context.principal.id,
  actorId: context.actor?.id ?? null,
  sessionId: sessionOf(context),
  credentialId: context.credentialId,
  tokenId: context.tokenId,
  issuedAtMs: context.issuedAtMs,
  appId: context.appId,
  tenantId: context.tenantId,
  contextId: context.contextId,
  nowMs,
})
