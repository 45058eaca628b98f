// What every change of one's own account begins with: a session, one transaction, and what is written down of it.
import type { HandlerContext } from "@connectrpc/connect"
import type { AuditKind } from "@signet/kernel/audit/event"
import { type Reason, Refused } from "@signet/kernel/errors"
import { callerProblem } from "@signet/kernel/identity/linking"
import type { SessionId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import type { Identity, Principal } from "@signet/kernel/records"
import { sessionUserOf, type UserContext } from "../../serving/call/call.ts"
import { auditEvent, type Facts, ofSession } from "../audit/audit.ts"
import type { Deps } from "../deps.ts"
import { limitWrite } from "../limit.ts"

/** Somebody at their own account. */
export interface Self {
  readonly deps: Deps
  readonly context: HandlerContext
  readonly tx: Tx
  readonly nowMs: number
  readonly user: UserContext
  /** Both locked, and active. */
  readonly identity: Identity
  readonly principal: Principal
  record(kind: AuditKind, facts?: Partial<Facts>): Promise<void>
  /** Writes a refusal down; the work returns what this does. */
  refuse(kind: AuditKind, reason: Reason, target?: Facts["target"]): Promise<Refused>
}

/**
 * Does the work on the caller's account, counted against their limit.
 *
 * @param work Returns Refused for what is not done and is to be written down.
 */
export async function onSelf<T>(
  deps: Deps,
  context: HandlerContext,
  work: (self: Self) => Promise<T | Refused>,
): Promise<T> {
  await limitWrite(deps, context)
  const user = sessionUserOf(context)
  const nowMs = deps.clock.nowMs()
  const outcome = await deps.store.transaction(async (tx) => {
    // In the order of a sign-in.
    const identity = await tx.accounts.lockIdentity(user.identityId)
    const principal = await tx.principals.lock(user.principal.id)
    const session = user.sessionId === null ? undefined : await tx.sessions.find(user.sessionId)
    const problem = callerProblem({ identity, principal, session })
    if (problem !== undefined || !identity || !principal) return new Refused(problem ?? "IDENTITY_INACTIVE")
    const record: Self["record"] = (kind, facts) =>
      tx.audit.append(auditEvent(deps, context, nowMs, { ...factsOf(user), ...facts, kind }))
    return work({
      deps,
      context,
      tx,
      nowMs,
      user,
      identity,
      principal,
      record,
      async refuse(kind, reason, target = null) {
        await record(kind, { outcome: "DENIED", reason, target })
        return new Refused(reason)
      },
    })
  })
  if (outcome instanceof Refused) throw outcome
  return outcome
}

/**
 * The same for what counts in every app: only in a session of an app that is trusted with it. The operator of any other
 * could give itself a way of signing in to all of them.
 */
export const onOwnIdentity: typeof onSelf = (deps, context, work) =>
  onSelf(deps, context, async (self) => {
    const app = await self.tx.apps.findApp(self.user.appId)
    return app?.settings.managesIdentity === true ? work(self) : notManaged()
  })

/** What people are told whose app does not change accounts. */
export const notManaged = () =>
  new Refused("CLIENT_NOT_ALLOWED", {
    message: "the app's manages_identity setting is off: use an app that manages accounts",
  })

/** Writes down the sessions that were ended. */
export async function recordEnded({ deps, context, tx, nowMs, user }: Self, ids: readonly SessionId[]): Promise<void> {
  for (const id of ids) {
    const session = await tx.sessions.find(id)
    if (session === undefined) continue
    const facts = { ...ofSession(session), kind: "session.revoked", actorPrincipalId: user.principal.id } as const
    await tx.audit.append(auditEvent(deps, context, nowMs, facts))
  }
}

/** Whose call it is, and about whom. */
export const factsOf = (user: UserContext) => ({
  appId: user.appId,
  tenantId: user.tenantId,
  contextId: user.contextId,
  actorPrincipalId: user.principal.id,
  subjectPrincipalId: user.principal.id,
  subjectIdentityId: user.identityId,
  sessionId: user.sessionId,
})
