// Records refused calls in the audit, within a budget for each caller.
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Refused } from "@signet/kernel/errors"
import { type AuditBudget, createAuditBudget, type Excess, type Share } from "@signet/kernel/limits/audit-budget"
import type { LimitRefusal } from "@signet/kernel/limits/ports"
import type { Clock, Random, Store } from "@signet/kernel/ports"
import { type Facts, ownEvent } from "./audit.ts"

/** Appends events to the store's audit in one transaction. */
export const appendTo =
  (store: Pick<Store, "transaction">) =>
  (events: readonly AuditEvent[]): Promise<void> =>
    store.transaction(async (tx) => {
      for (const event of events) await tx.audit.append(event)
    })

/** The bucket or lock of a refusal, and when it ends. */
export type InForce = Pick<LimitRefusal, "key" | "untilMs">

/** The facts that the audit records about a refusal. */
interface Cause extends Facts {
  /** Key of the limit or lock that refuses. It is recorded once in a window, however many calls it refuses. */
  readonly once?: string
  /** Set if the store was asked, so that one statement notes what refuses the following calls too. */
  readonly inForce?: InForce
}

const causes = new WeakMap<Refused, Cause>()

/** Sets what the audit records when a call ends with this refusal. The first cause wins. @returns The refusal. */
export function audited(refused: Refused, cause: Cause): Refused {
  if (!causes.has(refused)) causes.set(refused, cause)
  return refused
}

export const causeOf = (refused: Refused): Cause | undefined => causes.get(refused)

/** The caller properties, besides the actor, that select an event's budget. */
export interface Caller {
  readonly network: string | null
  readonly once?: string | undefined
}

export interface RefusalAudit {
  /** Records the event if the budget allows, and the counts that are due. Never throws. */
  record(event: AuditEvent, caller: Caller): Promise<void>
  /** Records the counts of windows that ended before `nowMs`. Never throws. */
  flush(nowMs?: number): Promise<void>
}

/** Events in ten minutes and in this process. */
const most = { caller: 60, actor: 120, network: 20, strangers: 200 } as const

type Summary = Pick<AuditEvent, "reason" | "appId" | "actorPrincipalId" | "subjectPrincipalId" | "subjectIdentityId"> &
  Pick<AuditEvent["request"], "route" | "ipTruncated">

export function createRefusalAudit(
  deps: {
    readonly append: (events: readonly AuditEvent[]) => Promise<void>
    readonly clock: Clock
    readonly random: Random
  },
  onFault: (fault: unknown) => void,
  budget: AuditBudget<Summary> = createAuditBudget(),
): RefusalAudit {
  async function write(nowMs: number, events: readonly AuditEvent[]): Promise<void> {
    const due = budget.takeDue(nowMs)
    const all = [...due.map((excess) => summaryOf(deps, excess)), ...events]
    if (all.length === 0) return
    try {
      await deps.append(all)
    } catch (fault) {
      budget.owe(due)
      onFault(fault)
    }
  }
  return {
    record(event, caller) {
      const nowMs = deps.clock.nowMs()
      return write(nowMs, budget.take(sharesOf(event, caller), nowMs) ? [event] : [])
    },
    flush: (nowMs = deps.clock.nowMs()) => write(nowMs, []),
  }
}

/**
 * The budgets of an event: the limit, the caller in its network, the caller everywhere. Callers without a credential
 * share one budget. A refused credential counts for its owner, separately from the owner's own calls, so that others
 * cannot use those up.
 */
function sharesOf(event: AuditEvent, { network, once }: Caller): Share<Summary>[] {
  const { reason, appId, actorPrincipalId, subjectPrincipalId, subjectIdentityId } = event
  const { route, ipTruncated } = event.request
  const who = actorPrincipalId ?? (subjectPrincipalId && `credential of ${subjectPrincipalId}`)
  const nobody = {
    reason: null,
    appId: null,
    actorPrincipalId: null,
    subjectPrincipalId: null,
    subjectIdentityId: null,
  }
  const everywhere: Summary = {
    ...nobody,
    ...(who !== null && { appId, actorPrincipalId, subjectPrincipalId, subjectIdentityId }),
    route: "",
    ipTruncated: null,
  }
  const here = { ...everywhere, ipTruncated }
  return [
    ...(once === undefined ? [] : [{ key: `limit ${once}`, most: 1, facts: { ...here, reason, route } }]),
    { key: `${who ?? ""} at ${network}`, most: actorPrincipalId === null ? most.network : most.caller, facts: here },
    { key: who ?? "", most: who === null ? most.strangers : most.actor, facts: everywhere },
  ]
}

function summaryOf(deps: { clock: Clock; random: Random }, { facts, count }: Excess<Summary>): AuditEvent {
  const { route, ipTruncated, ...who } = facts
  const target = { type: "events_not_written", id: String(count) }
  const event = ownEvent(deps, deps.clock.nowMs(), { ...who, kind: "audit.counted", outcome: "DENIED", target }, route)
  return { ...event, request: { ...event.request, ipTruncated } }
}
