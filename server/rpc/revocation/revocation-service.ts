import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import type { FindLiveness } from "@signet/guard/revocation/liveness"
import type { AuthContext } from "@signet/kernel/authz/context"
import { displacement, inactivity } from "@signet/kernel/authz/liveness"
import { Refused } from "@signet/kernel/errors"
import type { KeyRing } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import { heartbeatMs } from "@signet/kernel/revocation/limits"
import type { RevocationService } from "@signet/proto/auth/v1/revocation_service"
import { callerOf } from "../../serving/call/call.ts"
import { endOf } from "../../serving/interceptors/deadline.ts"
import type { RevocationFeed } from "./feed.ts"
import { createReaders, type Readers } from "./readers.ts"
import { createStatementSigner } from "./sign.ts"

export interface RevocationDeps {
  readonly feed: RevocationFeed
  readonly keys: Pick<KeyRing, "sign">
  readonly clock: Clock
  readonly liveness: FindLiveness
  /** Aborted when the server closes: waiting calls are answered then. */
  readonly closing: AbortSignal
  readonly readers?: Readers
}

export function revocationService(deps: RevocationDeps): ServiceImpl<typeof RevocationService> {
  const { feed, clock, closing } = deps
  const readers = deps.readers ?? createReaders()
  const sign = createStatementSigner(deps.keys)
  const signed = async (seq: number) => {
    const statement = await feed.after(seq)
    return { statement, response: { statement: sign(statement) } }
  }
  /** Resolves when an entry is revoked, the time has passed, or the call or server ends. */
  const quiet = (seq: number, ms: number, { signal }: HandlerContext) =>
    feed.grown(seq, AbortSignal.any([signal, closing, AbortSignal.timeout(Math.max(0, ms))]))

  /** Refuses a caller who became inactive during the wait. @throws Refused */
  async function requireActive(caller: AuthContext): Promise<void> {
    const { facts, asOfMs } = await deps.liveness(caller)
    const reason = inactivity(caller, facts, asOfMs) ?? displacement(caller, facts)
    if (reason !== undefined) throw new Refused(reason)
  }

  return {
    async listRevocations(request, context) {
      const caller = callerOf(context)
      const seq = Number(request.after)
      const { statement, response } = await signed(seq)
      if (request.wait === 0 || statement.head !== seq) return response
      const leave = readers.enter(caller.principal.id)
      try {
        await quiet(seq, request.wait * 1_000, context)
      } finally {
        leave()
      }
      await requireActive(caller)
      return (await signed(seq)).response
    },

    async getRevocationSnapshot(request) {
      return (await signed(Number(request.after))).response
    },

    async *watchRevocations(request, context) {
      const caller = callerOf(context)
      const leave = readers.enter(caller.principal.id)
      try {
        let seq = Number(request.after)
        let checkedAtMs = clock.nowMs()
        for (;;) {
          const { statement, response } = await signed(seq)
          if (clock.nowMs() - checkedAtMs >= heartbeatMs) {
            checkedAtMs = clock.nowMs()
            await requireActive(caller)
          }
          if (caller.expiresAtMs <= clock.nowMs()) throw new Refused("TOKEN_EXPIRED")
          yield response
          if (statement.to < seq)
            throw new Refused("UNAVAILABLE", {
              message: "the revocation log is not available up to this sequence number",
            })
          seq = statement.to
          if (seq === statement.head) {
            await quiet(seq, Math.min(heartbeatMs, caller.expiresAtMs - clock.nowMs()), context)
          }
          for (const signal of [context.signal, closing]) if (signal.aborted) throw endOf(signal)
        }
      } finally {
        leave()
      }
    },
  }
}
