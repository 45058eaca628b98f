// Changes of members that no member asked for: a member that is online takes one, and commits it with a proof that it
// asks for then.
import type { Reason } from "../errors.ts"
import type { DeviceId, DirectiveId, PrincipalId } from "../ids.ts"
import { directiveTimesMs } from "./limits.ts"
import type { Conversation, Directive, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

/** The leaves that a directive is about. */
export function targetsOf(directive: Pick<Directive, "userId" | "deviceId">, roster: readonly Leaf[]): readonly Leaf[] {
  const { userId, deviceId } = directive
  return roster.filter((leaf) => leaf.userId === userId && (deviceId === null || leaf.deviceId === deviceId))
}

/** Whose messages are not taken any more: a directive is to remove them, for good or until they rejoin. */
export function isOnTheWayOut(directives: readonly Directive[], leaf: Leaf): Reason | undefined {
  const mine = directives.filter(
    ({ status, userId, deviceId }) =>
      status === "OPEN" && userId === leaf.userId && (deviceId === null || deviceId === leaf.deviceId),
  )
  if (mine.some(({ kind }) => kind === "REVOCATION")) return "DEVICE_REVOKED"
  return mine.some(({ kind }) => kind === "LEAVE") ? "NOT_MEMBER" : undefined
}

/**
 * The directive that messages have to wait for: the oldest removal that is open longer than the grace, if a member was
 * online since to carry it out. A REJOIN holds nobody up, or one device that is stuck would hold up all.
 */
export function requiredCommit(
  { directives, memberOnlineAtMs }: Pick<Conversation, "directives" | "memberOnlineAtMs">,
  nowMs: number,
): Directive | undefined {
  return directives.find(
    ({ kind, status, issuedAtMs }) =>
      kind !== "REJOIN" &&
      status === "OPEN" &&
      nowMs >= issuedAtMs + directiveTimesMs.grace &&
      memberOnlineAtMs !== null &&
      memberOnlineAtMs >= issuedAtMs,
  )
}

export type LeaseDecision =
  | { readonly is: "lease"; readonly directive: Directive }
  | { readonly is: "refuse"; readonly reason: Reason; readonly retryAtMs: number | null }

/** Who may carry a directive out now. Whoever has the lease may take it again; its target never gets it. */
export function decideLease(
  conversation: Pick<Conversation, "directives" | "roster" | "status">,
  directiveId: DirectiveId,
  deviceId: DeviceId,
  nowMs: number,
): LeaseDecision {
  const refuse = (reason: Reason, retryAtMs: number | null = null): LeaseDecision => ({
    is: "refuse",
    reason,
    retryAtMs,
  })
  const own = leafOf(conversation.roster, deviceId)
  if (own === undefined) return refuse("NOT_MEMBER")
  if (conversation.status === "CLOSED") return refuse("CONVERSATION_CLOSED")
  const directive = conversation.directives.find(({ id }) => id === directiveId)
  if (directive === undefined) return refuse("NOT_FOUND")
  if (directive.status === "DONE") return refuse("NOTHING_TO_DO")
  const leaving = isOnTheWayOut(conversation.directives, own)
  if (leaving !== undefined) return refuse(leaving)
  if (targetsOf(directive, [own]).length > 0) return refuse("NOT_MEMBER")
  const { lease } = directive
  if (lease !== null && lease.deviceId !== deviceId && nowMs < lease.untilMs) {
    return refuse("DIRECTIVE_LEASED", lease.untilMs)
  }
  return {
    is: "lease",
    directive: { ...directive, lease: { deviceId, untilMs: nowMs + directiveTimesMs.lease } },
  }
}

/** True when this device may be authorized to carry the directive out: it has the lease, also when that has just run out. */
export function holdsLease(directive: Directive, deviceId: DeviceId): boolean {
  return directive.lease?.deviceId === deviceId
}

/** The directives after a commit: those without a leaf left are done, and a REJOIN goes from removal to re-addition. */
export function directivesAfter(directives: readonly Directive[], roster: readonly Leaf[]): readonly Directive[] {
  return directives.map((directive) => {
    const isThere = targetsOf(directive, roster).length > 0
    if (directive.status === "DONE") return directive
    if (directive.kind !== "REJOIN") return isThere ? directive : { ...directive, status: "DONE", lease: null }
    if (directive.status === "OPEN") return isThere ? directive : { ...directive, status: "REMOVED", lease: null }
    return isThere ? { ...directive, status: "DONE", lease: null } : directive
  })
}

export type DirectiveDecision =
  | { readonly is: "issue"; readonly directive: Directive }
  /** Asked for before, or there is nothing to remove. */
  | { readonly is: "there"; readonly directive: Directive | null }
  /** Nobody is left. */
  | { readonly is: "close" }
  | { readonly is: "refuse"; readonly reason: Reason }

interface Asked {
  readonly id: DirectiveId
  readonly userId: PrincipalId
  readonly deviceId: DeviceId | null
  readonly nowMs: number
}

/** A device was revoked, or its user ended. A REJOIN of the device is over then. */
export function decideRevocation(conversation: Conversation, asked: Asked): DirectiveDecision {
  return decideRemoval(conversation, asked, "REVOCATION")
}

/** A user asks to leave. A direct conversation is for good. */
export function decideLeave(conversation: Conversation, asked: Asked): DirectiveDecision {
  if (!conversation.roster.some(({ userId }) => userId === asked.userId)) return { is: "refuse", reason: "NOT_MEMBER" }
  if (conversation.kind === "DIRECT") return { is: "refuse", reason: "MEMBERSHIP_CHANGE_NOT_ALLOWED" }
  return decideRemoval(conversation, { ...asked, deviceId: null }, "LEAVE")
}

/** A device cannot follow. Somebody else has to be there to bring it back. */
export function decideRejoin(conversation: Conversation, asked: Asked & { deviceId: DeviceId }): DirectiveDecision {
  if (conversation.status === "CLOSED") return { is: "refuse", reason: "CONVERSATION_CLOSED" }
  const open = conversation.directives.find(
    ({ kind, status, deviceId }) => kind === "REJOIN" && status !== "DONE" && deviceId === asked.deviceId,
  )
  if (open !== undefined) return { is: "there", directive: open }
  const own = leafOf(conversation.roster, asked.deviceId)
  if (own === undefined || isOnTheWayOut(conversation.directives, own) !== undefined) {
    return { is: "refuse", reason: "NOT_MEMBER" }
  }
  return { is: "issue", directive: directiveOf(asked, "REJOIN") }
}

function decideRemoval(conversation: Conversation, asked: Asked, kind: "REVOCATION" | "LEAVE"): DirectiveDecision {
  if (conversation.status === "CLOSED") return { is: "there", directive: null }
  const targets = targetsOf(asked, conversation.roster)
  if (targets.length === 0) return { is: "there", directive: null }
  const open = conversation.directives.find(
    (directive) =>
      directive.kind === kind &&
      directive.status === "OPEN" &&
      directive.userId === asked.userId &&
      (directive.deviceId === null || directive.deviceId === asked.deviceId),
  )
  if (open !== undefined) return { is: "there", directive: open }
  const staying = conversation.roster.filter(
    (leaf) => !targets.includes(leaf) && isOnTheWayOut(conversation.directives, leaf) === undefined,
  )
  // Nobody could commit it. Two users whose direct conversation was closed get another one when they ask for it.
  if (staying.length === 0) return { is: "close" }
  return { is: "issue", directive: directiveOf(asked, kind) }
}

function directiveOf({ id, userId, deviceId, nowMs }: Asked, kind: Directive["kind"]): Directive {
  return { id, kind, status: "OPEN", userId, deviceId, issuedAtMs: nowMs, lease: null }
}
