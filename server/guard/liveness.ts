import type { AuthContext } from "@signet/kernel/authz/context"
import { type Liveness, sessionOf } from "@signet/kernel/authz/liveness"
import type { Clock, Liveness as LivenessPort } from "@signet/kernel/ports"

/** Asks whether the caller's principal, session, credential and membership are active. Throws when nobody can tell. */
export type FindLiveness = (context: AuthContext) => Promise<Liveness>

/** Liveness from a store that knows it as it is now. */
export function createLiveness(port: LivenessPort, clock: Clock): FindLiveness {
  return async (context) => {
    // Before the question: what changes while it is under way may be missed.
    const asOfMs = clock.nowMs()
    const facts = await port.find({
      principalId: context.principal.id,
      actorId: context.actor?.id ?? null,
      sessionId: sessionOf(context),
      credentialId: context.credentialId,
      tokenId: context.tokenId,
      issuedAtMs: context.issuedAtMs,
      appId: context.appId,
      tenantId: context.tenantId,
      contextId: context.contextId,
      nowMs: asOfMs,
    })
    return { facts, asOfMs }
  }
}
