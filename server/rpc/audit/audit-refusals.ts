import type { Interceptor, StreamRequest, UnaryRequest } from "@connectrpc/connect"
import { kAuth } from "@signet/guard/connect"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { LimitRefusal } from "@signet/kernel/limits/ports"
import type { Clock, Random } from "@signet/kernel/ports"
import { kCall } from "../../serving/call/call.ts"
import { auditEvent } from "./audit.ts"
import { callerFacts, denialFacts } from "./denials.ts"
import { causeOf, type InForce, type RefusalAudit } from "./refusals.ts"

/**
 * Records refused calls for which the handler declared an audit cause (see `audited`). It runs just inside the
 * interceptor that turns refusals into errors, so every protocol is recorded alike.
 */
export function auditRefusals(deps: {
  readonly refusals: RefusalAudit
  readonly clock: Clock
  readonly random: Random
  /** Stores a limit or lock in force, for administrators. Never throws. */
  readonly note?: (refusal: LimitRefusal) => Promise<unknown>
}): Interceptor {
  async function record(req: UnaryRequest | StreamRequest, thrown: unknown): Promise<void> {
    if (!(thrown instanceof Refused)) return
    const cause = causeOf(thrown)
    if (cause === undefined) return
    const { once, inForce, ...facts } = cause
    const call = { service: req.service, method: req.method, values: req.contextValues }
    const caller = req.contextValues.get(kAuth) ?? undefined
    const event = auditEvent(deps, call, deps.clock.nowMs(), {
      ...callerFacts(caller),
      ...(facts.kind === "authz.denied" && denialFacts(req.method, caller)),
      reason: thrown.reason,
      ...facts,
    })
    await deps.refusals.record(event, { network: req.contextValues.get(kCall).network, once })
    if (inForce !== undefined) await deps.note?.(refusalOf(event, inForce))
  }

  async function* followed<T>(req: StreamRequest, messages: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* messages
    } catch (thrown) {
      await record(req, thrown)
      throw thrown
    }
  }

  return (next) => async (req) => {
    try {
      const res = await next(req)
      return req.stream && res.stream ? { ...res, message: followed(req, res.message) } : res
    } catch (thrown) {
      await record(req, thrown)
      throw thrown
    }
  }
}

/** The fields that the event names, and no others. */
const refusalOf = (
  { kind, target, actorPrincipalId, occurredAtMs, request }: AuditEvent,
  { key, untilMs }: InForce,
): LimitRefusal => ({
  key,
  kind: kind === "ratelimit.locked_out" ? "LOCK" : "RATE_LIMIT",
  name: target?.id ?? "",
  network: request.ipTruncated,
  principalId: actorPrincipalId,
  refusedAtMs: occurredAtMs,
  untilMs,
})
