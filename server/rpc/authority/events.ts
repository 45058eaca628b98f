import { timestampMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext } from "@connectrpc/connect"
import type { AuditEvent, AuditKind } from "@signet/kernel/audit/event"
import { type Reason, Refused, refusals } from "@signet/kernel/errors"
import { type IdKinds, parseId } from "@signet/kernel/ids"
import { type Backend, backendKinds, eventProblem } from "@signet/kernel/messaging/backend"
import { type BackendEvent, BackendEvent_Outcome as Outcome } from "@signet/proto/authority/v1/authority_service"
import { Reason as WireReason } from "@signet/proto/authz/v1/reason"
import { parseDenial } from "../audit/denial-shape.ts"
import { backendOf, invalid, notTheCallers } from "./backend.ts"
import type { AuthorityDeps } from "./deps.ts"
import { idIn } from "./sign.ts"

/** Appends the events that are not in the audit yet. A backend retries its events until the call succeeds. */
export async function writeAuditEvents(
  deps: AuthorityDeps,
  context: HandlerContext,
  reported: readonly BackendEvent[],
): Promise<void> {
  const backend = await backendOf(deps, context)
  const nowMs = deps.clock.nowMs()
  // By id: an event that occurs twice in one call is appended once.
  const events = new Map(reported.map((event) => [event.id, eventOf(backend, event, nowMs)]))
  await deps.store.transaction(async (tx) => {
    const known = await tx.audit.storedIds([...events.values()].map(({ id }) => id))
    for (const event of events.values()) if (!known.has(event.id)) await tx.audit.append(event)
  })
}

/** @throws Refused NOT_THE_CALLERS, INVALID_FIELD */
function eventOf(backend: Backend, reported: BackendEvent, nowMs: number): AuditEvent {
  const kind = [...backendKinds].find((one): one is AuditKind => one === reported.kind)
  if (kind === undefined) throw notTheCallers("kind")
  const occurredAtMs = reported.occurredAt === undefined ? Number.NaN : timestampMs(reported.occurredAt)
  const named = { appId: optional("app", reported.appId), tenantId: optional("ten", reported.tenantId) }
  const problem = eventProblem(backend, { kind, ...named, occurredAtMs, route: reported.route }, nowMs)
  if (problem === "occurred_at") {
    const code = occurredAtMs > nowMs ? "TOO_NEW" : "TOO_OLD"
    throw new Refused("INVALID_FIELD", { metadata: { field: problem, code } })
  }
  if (problem !== undefined) throw notTheCallers(problem)
  if ((reported.targetType === "") !== (reported.targetId === "")) throw invalid("target_id")
  const { denial } = reported
  if (denial !== undefined && kind !== "authz.denied") throw invalid("denial")
  return {
    id: idIn("aud", reported.id, "id"),
    occurredAtMs,
    kind,
    outcome: outcomes[reported.outcome] ?? "SUCCESS",
    reason: reasons.get(reported.reason) ?? null,
    ...placeOf(backend, named),
    contextId: null,
    actorPrincipalId: optional("prn", reported.actorPrincipalId),
    subjectPrincipalId: optional("prn", reported.subjectPrincipalId),
    subjectIdentityId: optional("idn", reported.subjectIdentityId),
    sessionId: optional("ses", reported.sessionId),
    target: reported.targetType === "" ? null : { type: reported.targetType, id: reported.targetId },
    ...(denial !== undefined && { denial: parseDenial(denial) }),
    request: { id: reported.requestId, route: reported.route, ipTruncated: reported.ipTruncated || null },
  }
}

/**
 * An event without a place belongs to the backend's own app. Only the installation's backend writes to the
 * installation's chain.
 */
const placeOf = (
  { appId, tenantId, isInstallation }: Backend,
  named: Pick<AuditEvent, "appId" | "tenantId">,
): Pick<AuditEvent, "appId" | "tenantId"> => (named.appId === null && !isInstallation ? { appId, tenantId } : named)

const outcomes: Partial<Record<Outcome, AuditEvent["outcome"]>> = {
  [Outcome.SUCCESS]: "SUCCESS",
  [Outcome.FAILURE]: "FAILURE",
  [Outcome.DENIED]: "DENIED",
}

const isReason = (name: string): name is Reason => Object.hasOwn(refusals, name)

const reasons = new Map<WireReason, Reason>(
  Object.entries(WireReason).flatMap(([name, number]) => (isReason(name) ? [[number, name]] : [])),
)

const optional = <K extends keyof IdKinds>(kind: K, text: string): IdKinds[K] | null => parseId(kind, text) ?? null
