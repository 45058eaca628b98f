// Refreshes a session in two statements: one counts the caller's network and reads all facts, the other rotates the
// token if nothing has changed. Any other outcome is decided in a transaction under the session's lock. A reuse is
// committed before it is refused.
import type { HandlerContext } from "@connectrpc/connect"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import { type Reason, Refused } from "@signet/kernel/errors"
import type { AuditEventId } from "@signet/kernel/ids"
import type { FoundRefresh, Tx } from "@signet/kernel/ports"
import type { RefreshToken, Session } from "@signet/kernel/records"
import { parseOpaque } from "@signet/kernel/token/opaque"
import { auditEvent, ofSession } from "../audit/audit.ts"
import { audited } from "../audit/refusals.ts"
import type { Deps } from "../deps.ts"
import { limit, limitedWith, networkOf } from "../limit.ts"
import { decideRefresh, type Entitled, planSuccessor, type RefreshCall } from "./refresh-decision.ts"

interface Refreshed extends Entitled {
  session: Session
  versions: AuthorityVersions
  refreshToken: string
  /** The event of the refresh. */
  eventId: AuditEventId
}

interface Rejected {
  reason: Reason
  /** The token's session; missing for an unknown token. */
  session?: Session
}

type Outcome = Refreshed | Rejected

/**
 * The refusal of a refresh. The caller has not proved to be the session's person, so the event has no actor. A reuse
 * has its own event.
 */
function rejected({ reason, session }: Rejected): Refused {
  const refused = new Refused(reason)
  if (reason === "REFRESH_TOKEN_REUSED") return refused
  const facts = session && { ...ofSession(session), actorPrincipalId: null }
  return audited(refused, { kind: "session.refresh_rejected", outcome: "DENIED", ...facts })
}

/**
 * @param presented Undefined without a token.
 * @throws Refused REFRESH_TOKEN_INVALID, REFRESH_TOKEN_REUSED, RATE_LIMITED, and the reasons for which an account is
 * inactive.
 */
export async function refresh(
  deps: Deps,
  context: HandlerContext,
  presented: RefreshCall | undefined,
): Promise<Refreshed> {
  const token = presented && parseOpaque("sgrt_", presented.token)
  if (presented === undefined || token === undefined) {
    await limit(deps, context, "refresh", { ip: networkOf(context) })
    throw rejected({ reason: "REFRESH_TOKEN_INVALID" })
  }
  const call = { ...presented, token }
  const hashes = deps.secrets.hashes("refresh-token", token)
  let found: FoundRefresh | undefined
  const tooMany = await limitedWith(deps, context, "refresh", { ip: networkOf(context) }, {}, async (counting) => {
    const { refresh, ...taken } = await deps.store.refreshes.countAndFind(counting, hashes)
    found = refresh
    return taken
  })
  if (tooMany !== undefined) throw tooMany
  const outcome =
    (found && (await rotateAtOnce(deps, context, call, found))) ??
    (await deps.store.transaction((tx) => rotateLocked(deps, context, tx, { call, hashes })))
  if ("reason" in outcome) throw rejected(outcome)
  return outcome
}

/** Rotates a current token in one statement. Undefined if that is not possible, or if the facts have changed since. */
async function rotateAtOnce(
  deps: Deps,
  context: HandlerContext,
  call: RefreshCall,
  { session, facts }: FoundRefresh,
): Promise<Refreshed | undefined> {
  const nowMs = deps.clock.nowMs()
  const decision = decideRefresh(deps, context, { session, facts, call }, nowMs)
  if (decision.is !== "rotate" || "reason" in decision.entitled) return undefined
  const next = planSuccessor(deps, { ...decision, call }, nowMs)
  const event = auditEvent(deps, context, nowMs, { kind: "session.refreshed", ...ofSession(session) })
  let isRotated = false
  const { versions } = facts
  const tooMany = await limitedWith(deps, context, "refresh", { session: session.id }, {}, async (counting) => {
    const expected = { session, versions }
    const rotated = await deps.store.refreshes.countAndRotate(counting, expected, next.rotation, event)
    isRotated = rotated.isRotated
    return rotated
  })
  if (tooMany !== undefined) throw tooMany
  if (!isRotated) return undefined
  const { session: renewed, refreshToken } = next
  return { ...decision.entitled, session: renewed, refreshToken, versions, eventId: event.id }
}

async function rotateLocked(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  { call, hashes }: { call: RefreshCall; hashes: readonly Uint8Array[] },
): Promise<Outcome> {
  const nowMs = deps.clock.nowMs()
  const session = await tx.sessions.lockByRefreshToken(hashes)
  if (session === undefined) return { reason: "REFRESH_TOKEN_INVALID" }
  const facts = await tx.refreshTokens.findWithFacts(hashes, session)
  const decision = decideRefresh(deps, context, { session, facts, call }, nowMs)
  switch (decision.is) {
    case "refuse":
      return { reason: "REFRESH_TOKEN_INVALID", session }
    case "reuse":
      return endFamily(deps, context, tx, session, nowMs)
    case "retry":
    case "rotate": {
      // After the reuse check: a copied token ends its session even when the limit is exceeded.
      await limit(deps, context, "refresh", { session: session.id }, { counts: tx.limits })
      const { entitled } = decision
      if ("reason" in entitled) return { ...entitled, session }
      const step: Step = { ...decision, call, nowMs }
      const next =
        decision.is === "rotate"
          ? await issueSuccessor(deps, context, tx, { ...decision, call, nowMs })
          : await reopenSuccessor(deps, context, tx, { ...step, sealed: decision.successorSealed })
      if (next === undefined) return endFamily(deps, context, tx, session, nowMs)
      return { ...entitled, ...next, versions: facts.versions }
    }
  }
}

async function endFamily(deps: Deps, context: HandlerContext, tx: Tx, session: Session, nowMs: number) {
  await tx.sessions.end(session.id, "COMPROMISED", "refresh_reuse", nowMs)
  await tx.audit.append(
    auditEvent(deps, context, nowMs, {
      kind: "session.refresh_reuse",
      outcome: "DENIED",
      reason: "REFRESH_TOKEN_REUSED",
      ...ofSession(session),
    }),
  )
  return { reason: "REFRESH_TOKEN_REUSED" } as const
}

interface Step {
  session: Session
  token: RefreshToken
  call: RefreshCall
  nowMs: number
}

async function issueSuccessor(
  deps: Deps,
  context: HandlerContext,
  tx: Tx,
  step: Step & Parameters<typeof planSuccessor>[1],
) {
  const { session, refreshToken, rotation } = planSuccessor(deps, step, step.nowMs)
  const { tokenId, successor, ...change } = rotation
  await tx.refreshTokens.rotate(tokenId, change, successor)
  const facts = { kind: "session.refreshed", ...ofSession(step.session) } as const
  const event = auditEvent(deps, context, step.nowMs, facts)
  await tx.audit.append(event)
  return { session, refreshToken, eventId: event.id }
}

/**
 * Opens the sealed successor of a retried refresh. Undefined if it does not open: with a matching key, only for an
 * altered row.
 */
async function reopenSuccessor(deps: Deps, context: HandlerContext, tx: Tx, step: Step & { sealed: Uint8Array }) {
  const { session, token, call, nowMs } = step
  const of = { tokenId: token.id, token: call.token, retryKey: call.retryKey }
  const refreshToken = deps.secrets.openSuccessor(of, step.sealed)
  if (refreshToken === undefined) return undefined
  const event = auditEvent(deps, context, nowMs, { kind: "session.refresh_retried", ...ofSession(session) })
  await tx.audit.append(event)
  return { session, refreshToken, eventId: event.id }
}
