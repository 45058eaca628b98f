// The frame of every change to one's own account: session check, one transaction, audit.
import type { HandlerContext } from "@connectrpc/connect"
import type { AuditKind } from "@signet/kernel/audit/event"
import { type Reason, Refused } from "@signet/kernel/errors"
import { callerProblem } from "@signet/kernel/identity/linking"
import type { SessionId } from "@signet/kernel/ids"
import type { Tx } from "@signet/kernel/ports"
import type { Identity, Principal } from "@signet/kernel/records"
import { sessionUserOf, type UserContext } from "../../serving/call/call.ts"
import { auditEvent, type Facts, ofSession, ofUser } from "../audit/audit.ts"
import { denialFacts } from "../audit/denials.ts"
import type { Deps } from "../deps.ts"
import { limitWrite } from "../limit.ts"

/** The caller's own account inside of one transaction. */
export interface Self {
  readonly deps: Deps
  readonly context: HandlerContext
  readonly tx: Tx
  readonly nowMs: number
  readonly user: UserContext
  /** Locked and active, as is `principal`. */
  readonly identity: Identity
  readonly principal: Principal
  record(kind: AuditKind, facts?: Partial<Facts>): Promise<void>
  /** Records a refusal in the audit. The work returns the result. */
  refuse(kind: AuditKind, reason: Reason, target?: Facts["target"]): Promise<Refused>
}

/**
 * Runs `work` on the caller's account, counted against the caller's write limit.
 *
 * @param work Returns `Refused` for a refusal whose audit row must be committed.
 * @throws Refused
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
    // The lock order of a sign-in: identity, then principal.
    const identity = await tx.accounts.lockIdentity(user.identityId)
    const principal = await tx.principals.lock(user.principal.id)
    const session = user.sessionId === null ? undefined : await tx.sessions.find(user.sessionId)
    const problem = callerProblem({ identity, principal, session })
    if (problem !== undefined || !identity || !principal) return new Refused(problem ?? "IDENTITY_INACTIVE")
    const record: Self["record"] = (kind, facts) =>
      tx.audit.append(auditEvent(deps, context, nowMs, { ...ofUser(user), ...facts, kind }))
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
        const facts = kind === "authz.denied" ? denialFacts(context.method, user) : {}
        await record(kind, { outcome: "DENIED", reason, target, ...facts })
        return new Refused(reason)
      },
    })
  })
  if (outcome instanceof Refused) throw outcome
  return outcome
}

/**
 * As `onSelf`, for changes that count in every app. Only an app with `manages_identity` may make them: the operator of
 * another app could otherwise link its own provider account and sign in to every app.
 */
export const onOwnIdentity: typeof onSelf = (deps, context, work) =>
  onSelf(deps, context, async (self) => {
    const app = await self.tx.apps.findApp(self.user.appId)
    return app?.settings.managesIdentity === true ? work(self) : notManaged()
  })

/** The refusal for callers whose app does not manage identities. */
export const notManaged = () =>
  new Refused("CLIENT_NOT_ALLOWED", {
    message: "the app's manages_identity setting is off: use an app that manages accounts",
  })

/** Records each ended session. */
export async function recordEnded({ deps, context, tx, nowMs, user }: Self, ids: readonly SessionId[]): Promise<void> {
  for (const id of ids) {
    const session = await tx.sessions.find(id)
    if (session === undefined) continue
    const facts = { ...ofSession(session), kind: "session.revoked", actorPrincipalId: user.principal.id } as const
    await tx.audit.append(auditEvent(deps, context, nowMs, facts))
  }
}
