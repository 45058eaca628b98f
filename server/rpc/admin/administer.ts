// The frame of every administrative call: caller, one transaction, audit. A call outside its caller's scope is recorded
// in a second transaction, because the first has been rolled back.
import type { HandlerContext } from "@connectrpc/connect"
import type { Place } from "@signet/kernel/administration/ports"
import type { AuditKind } from "@signet/kernel/audit/event"
import { administersInstallation, reachMismatch } from "@signet/kernel/authz/admin-reach"
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Reason, Refused } from "@signet/kernel/errors"
import { type IdKinds, newId, type PrincipalId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import { callerOf } from "../../serving/call/call.ts"
import { auditEvent } from "../audit/audit.ts"
import { denialFacts, isReason } from "../audit/denials.ts"
import type { Deps } from "../deps.ts"
import { limit, networkOf } from "../limit.ts"

/** The transaction of an administrative call. */
export interface AdminTransaction {
  readonly deps: Deps
  readonly tx: Tx
  readonly nowMs: number
  readonly caller: AuthContext
  /** True when the caller administers every app. */
  readonly isInstallation: boolean
  newId<K extends keyof IdKinds>(kind: K): IdKinds[K]
  /** @throws Refused RESOURCE_UNRESOLVED for a place that the caller does not administer. */
  reach(place: Place): void
  /** Records the change in the audit. */
  record(kind: AuditKind, of: Recorded): Promise<void>
}

interface Recorded {
  readonly place: Place
  readonly target: { readonly type: string; readonly id: string }
  /** The principal that the change concerns. */
  readonly subject?: PrincipalId | null
}

/**
 * Runs `work` in one transaction.
 *
 * @param use "write" is counted against the caller's limit. A read that records an event for each call is a "write".
 * @param work Throws `Refused` to roll back.
 */
export async function administer<T>(
  deps: Deps,
  context: HandlerContext,
  use: "read" | "write",
  work: (admin: AdminTransaction) => Promise<T>,
): Promise<T> {
  const caller = callerOf(context)
  if (use === "write") await limit(deps, context, "admin_write", { caller: caller.principal.id })
  const nowMs = deps.clock.nowMs()
  try {
    return await deps.store.transaction(async (tx) => {
      const isInstallation = administersInstallation(caller, await tx.apps.findApp(caller.appId))
      return work({
        deps,
        tx,
        nowMs,
        caller,
        isInstallation,
        newId: (kind) => newId(kind, nowMs, deps.random.bytes(10)),
        reach(place) {
          const reason = reachMismatch(caller, isInstallation, place)
          if (reason !== undefined) throw unresolved(reason)
        },
        record: (kind, { place: { appId, tenantId, contextId }, target, subject = null }) =>
          tx.audit.append(
            auditEvent(deps, context, nowMs, {
              ...factsOf(caller),
              ...{ kind, target, appId, tenantId, contextId },
              subjectPrincipalId: subject,
            }),
          ),
      })
    })
  } catch (thrown) {
    if (thrown instanceof Refused && thrown.code === "permission_denied") await recordDenial(deps, context, thrown)
    throw thrown
  }
}

/**
 * One refusal for a record that is missing, of another app, or outside the caller's scope. The audit has the true
 * reason.
 */
export const unresolved = (reason: Reason = "RESOURCE_UNRESOLVED"): Refused =>
  new Refused("RESOURCE_UNRESOLVED", { cause: reason })

/** @throws Refused RESOURCE_UNRESOLVED unless the caller administers the installation. */
export function requireInstallation({ isInstallation, caller }: AdminTransaction): void {
  if (!isInstallation) throw unresolved(caller.tenantId === null ? "APP_MISMATCH" : "TENANT_MISMATCH")
}

async function recordDenial(deps: Deps, context: HandlerContext, refused: Refused): Promise<void> {
  const reason = isReason(refused.cause) ? refused.cause : refused.reason
  const caller = callerOf(context)
  const nowMs = deps.clock.nowMs()
  const denied = { kind: "authz.denied", outcome: "DENIED", reason } as const
  const facts = { ...factsOf(caller), ...denied, ...denialFacts(context.method, caller) }
  const event = auditEvent(deps, context, nowMs, facts)
  await deps.refusals.record(event, { network: networkOf(context) })
}

/** The actor and scope of an event that the caller causes. */
export const factsOf = (caller: AuthContext) => ({
  appId: caller.appId,
  tenantId: caller.tenantId,
  contextId: caller.contextId,
  actorPrincipalId: caller.principal.id,
  sessionId: caller.sessionId,
})
