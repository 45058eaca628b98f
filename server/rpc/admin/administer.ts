// What every administrative call begins and ends with: a caller, one transaction, and what is written down of it. A call
// that is out of its caller's reach is written down too, in a transaction of its own: that of the work has been undone.
import type { HandlerContext } from "@connectrpc/connect"
import type { Place } from "@signet/kernel/administration/ports"
import type { AuditKind } from "@signet/kernel/audit/event"
import { administersInstallation, outOfReach } from "@signet/kernel/authz/administers"
import type { AuthContext } from "@signet/kernel/authz/context"
import { type Reason, Refused } from "@signet/kernel/errors"
import { type IdKinds, newId, type PrincipalId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import { callerOf } from "../../serving/call/call.ts"
import { auditEvent } from "../audit/audit.ts"
import { isReason } from "../audit/denials.ts"
import type { Deps } from "../deps.ts"
import { limit, networkOf } from "../limit.ts"

/** What an administrator works with, inside of one transaction. */
export interface Desk {
  readonly deps: Deps
  readonly tx: Tx
  readonly nowMs: number
  readonly caller: AuthContext
  /** The caller administers every app. */
  readonly isInstallation: boolean
  newId<K extends keyof IdKinds>(kind: K): IdKinds[K]
  /** @throws Refused RESOURCE_UNRESOLVED for a place that the caller does not administer. */
  reach(place: Place): void
  /** Writes down what was done, and where. */
  record(kind: AuditKind, of: Recorded): Promise<void>
}

interface Recorded {
  readonly place: Place
  readonly target: { readonly type: string; readonly id: string }
  /** Whose affairs it touches. */
  readonly subject?: PrincipalId | null
}

/**
 * Does the work, or nothing of it.
 *
 * @param use A "write" is counted against the caller's limit. So is what writes an event for every answer.
 * @param work Throws Refused for what is not done. What comes of it is committed as a whole.
 */
export async function administer<T>(
  deps: Deps,
  context: HandlerContext,
  use: "read" | "write",
  work: (desk: Desk) => Promise<T>,
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
          const reason = outOfReach(caller, isInstallation, place)
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

/** The one refusal of what is not there, is somebody else's or is out of reach; the audit knows which. */
export const unresolved = (reason: Reason = "RESOURCE_UNRESOLVED"): Refused =>
  new Refused("RESOURCE_UNRESOLVED", { cause: reason })

/** @throws Refused RESOURCE_UNRESOLVED unless the caller administers the installation. */
export function requireInstallation({ isInstallation, caller }: Desk): void {
  if (!isInstallation) throw unresolved(caller.tenantId === null ? "APP_MISMATCH" : "TENANT_MISMATCH")
}

async function recordDenial(deps: Deps, context: HandlerContext, refused: Refused): Promise<void> {
  const reason = isReason(refused.cause) ? refused.cause : refused.reason
  const caller = callerOf(context)
  const nowMs = deps.clock.nowMs()
  const facts = { ...factsOf(caller), kind: "authz.denied", outcome: "DENIED", reason } as const
  const event = auditEvent(deps, context, nowMs, facts)
  await deps.refusals.record(event, { network: networkOf(context) })
}

/** Who administers, and where. */
export const factsOf = (caller: AuthContext) => ({
  appId: caller.appId,
  tenantId: caller.tenantId,
  contextId: caller.contextId,
  actorPrincipalId: caller.principal.id,
  sessionId: caller.sessionId,
})
