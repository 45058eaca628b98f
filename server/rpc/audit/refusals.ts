// Refused calls as events of the audit, within the budget of whoever calls.
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Refused } from "@signet/kernel/errors"
import { type AuditBudget, createAuditBudget, type Excess, type Share } from "@signet/kernel/limits/audit-budget"
import type { Clock, Random, Store } from "@signet/kernel/ports"
import { type Facts, ownEvent } from "./audit.ts"

/** Appends events to the store's audit, all or none. */
export const appendTo =
  (store: Pick<Store, "transaction">) =>
  (events: readonly AuditEvent[]): Promise<void> =>
    store.transaction(async (tx) => {
      for (const event of events) await tx.audit.append(event)
    })

/** What the audit says of a refusal. */
export interface Cause extends Facts {
  /** The limit or lock that refuses: written once in a window, however many calls it refuses. */
  readonly once?: string
}

const causes = new WeakMap<Refused, Cause>()

/** Says what the audit writes when a call ends with this refusal; the first word counts. @returns The refusal. */
export function audited(refused: Refused, cause: Cause): Refused {
  if (!causes.has(refused)) causes.set(refused, cause)
  return refused
}

export const causeOf = (refused: Refused): Cause | undefined => causes.get(refused)

/** Whose budget an event is written from, besides its actor's. */
export interface Caller {
  readonly network: string | null
  readonly once?: string | undefined
}

export interface RefusalAudit {
  /** Writes the event if its budget allows, and the counts that are due. Never throws. */
  record(event: AuditEvent, caller: Caller): Promise<void>
  /** Writes the counts of windows that have ended by then. Never throws. */
  flush(nowMs?: number): Promise<void>
}

/** Events in ten minutes, of this process. */
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
 * A limit, then the caller in its network, then the caller everywhere; strangers are one caller. Whoever shows a credential
 * that its owner alone had is counted by the owner, apart from the owner's own calls: strangers do not use that up.
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
