// Directives: membership changes that the server requires. An online member takes the lease of one and commits it with
// a proof that it then requests.
import type { Reason } from "../errors.ts"
import type { DeviceId, DirectiveId, PrincipalId } from "../ids.ts"
import { directiveTimesMs } from "./limits.ts"
import type { Conversation, Directive, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

/** The leaves that a directive targets. */
export function targetsOf(directive: Pick<Directive, "userId" | "deviceId">, roster: readonly Leaf[]): readonly Leaf[] {
  const { userId, deviceId } = directive
  return roster.filter((leaf) => leaf.userId === userId && (deviceId === null || leaf.deviceId === deviceId))
}

/**
 * Returns why the server rejects the leaf's messages: a directive removes it permanently or until it rejoins. Undefined
 * if it does not.
 */
export function isOnTheWayOut(directives: readonly Directive[], leaf: Leaf): Reason | undefined {
  const mine = directives.filter(
    ({ status, userId, deviceId }) =>
      status === "OPEN" && userId === leaf.userId && (deviceId === null || deviceId === leaf.deviceId),
  )
  if (mine.some(({ kind }) => kind === "REVOCATION")) return "DEVICE_REVOKED"
  return mine.some(({ kind }) => kind === "LEAVE") ? "NOT_MEMBER" : undefined
}

/**
 * The directive that must be committed before the item: the oldest removal whose grace period has passed. Its sender is
 * a member, so it can commit the removal itself. A REJOIN never blocks others, or one stuck device would block all.
 */
export function requiredCommit(
  { directives }: Pick<Conversation, "directives">,
  before: keyof typeof directiveTimesMs.grace,
  nowMs: number,
): Directive | undefined {
  return directives.find(
    ({ kind, status, issuedAtMs }) =>
      kind !== "REJOIN" && status === "OPEN" && nowMs >= issuedAtMs + directiveTimesMs.grace[before],
  )
}

export type LeaseDecision =
  | { readonly is: "lease"; readonly directive: Directive }
  | { readonly is: "refuse"; readonly reason: Reason; readonly retryAtMs: number | null }

/**
 * Decides whether a device may commit a directive now. The first device gets a lease, which nobody can extend. After it
 * every member may commit the directive, so that no group of members can delay a removal by taking turns. The removal of
 * a REJOIN and the addition after it have one lease each.
 *
 * @param isOver The device to add is revoked, or its user left before it was added: the directive is DONE.
 */
export function decideLease(
  conversation: Pick<Conversation, "directives" | "roster" | "status">,
  directiveId: DirectiveId,
  deviceId: DeviceId,
  nowMs: number,
  isOver = false,
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
  if (isOver) return { is: "lease", directive: { ...directive, status: "DONE", lease: null } }
  const { lease } = directive
  if (lease === null) {
    return { is: "lease", directive: { ...directive, lease: { deviceId, untilMs: nowMs + directiveTimesMs.lease } } }
  }
  if (!mayCarryOut(directive, deviceId, nowMs)) return refuse("DIRECTIVE_LEASED", lease.untilMs)
  return { is: "lease", directive }
}

/** The open directives after the decision on a lease. */
export const withLeased = (directives: readonly Directive[], leased: Directive): readonly Directive[] =>
  directives.map((one) => (one.id === leased.id ? leased : one)).filter(({ status }) => status !== "DONE")

/** True if the device has leased the directive, or if the lease of another device has ended. */
export function mayCarryOut({ lease }: Directive, deviceId: DeviceId, nowMs: number): boolean {
  return lease !== null && (lease.deviceId === deviceId || nowMs >= lease.untilMs)
}

/**
 * The directives after a commit. One without remaining target leaves is DONE; a REJOIN moves from removal to re-adding.
 */
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
  /** The directive exists already, or there is nothing to remove. */
  | { readonly is: "there"; readonly directive: Directive | null }
  /** No member would remain: close the conversation. */
  | { readonly is: "close" }
  | { readonly is: "refuse"; readonly reason: Reason }

interface Asked {
  readonly id: DirectiveId
  readonly userId: PrincipalId
  readonly deviceId: DeviceId | null
  readonly nowMs: number
}

/** Decides the removal of a revoked device or a deleted user. It also ends a REJOIN of the device. */
export function decideRevocation(conversation: Conversation, asked: Asked): DirectiveDecision {
  return decideRemoval(conversation, asked, "REVOCATION")
}

/** Decides a user's request to leave. Users cannot leave a direct conversation. */
export function decideLeave(conversation: Conversation, asked: Asked): DirectiveDecision {
  if (!conversation.roster.some(({ userId }) => userId === asked.userId)) return { is: "refuse", reason: "NOT_MEMBER" }
  if (conversation.kind === "DIRECT") return { is: "refuse", reason: "MEMBERSHIP_CHANGE_NOT_ALLOWED" }
  return decideRemoval(conversation, { ...asked, deviceId: null }, "LEAVE")
}

/**
 * Decides a rejoin for a device that cannot process the log. Another member must remove and add it. A new device of a
 * member user has no leaf to remove: it is only added.
 *
 * @param asked.processedSeq The device has processed the log up to this sequence number. Default: 0.
 */
export function decideRejoin(
  conversation: Conversation,
  { processedSeq = 0n, ...asked }: Asked & { readonly deviceId: DeviceId; readonly processedSeq?: bigint },
): DirectiveDecision {
  if (conversation.status === "CLOSED") return { is: "refuse", reason: "CONVERSATION_CLOSED" }
  const isBeyondLog = processedSeq > conversation.headSeq
  // A request from before the loss does not skip the lost numbers, so it does not replace this one.
  const open = conversation.directives.find(
    ({ kind, status, deviceId, ...one }) =>
      kind === "REJOIN" &&
      status !== "DONE" &&
      deviceId === asked.deviceId &&
      (status === "REMOVED" || !isBeyondLog || one.isBeyondLog === true),
  )
  if (open !== undefined) return { is: "there", directive: open }
  const own = leafOf(conversation.roster, asked.deviceId)
  const leaves = own === undefined ? targetsOf({ ...asked, deviceId: null }, conversation.roster) : [own]
  const isStaying = leaves.some((leaf) => isOnTheWayOut(conversation.directives, leaf) === undefined)
  if (!isStaying) return { is: "refuse", reason: "NOT_MEMBER" }
  const directive = directiveOf(asked, "REJOIN")
  if (own === undefined) return { is: "issue", directive: { ...directive, status: "REMOVED" } }
  return { is: "issue", directive: isBeyondLog ? { ...directive, isBeyondLog } : directive }
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
  // No member could commit the removal. If two users' direct conversation is closed, their next request creates a new
  // one.
  if (staying.length === 0) return { is: "close" }
  return { is: "issue", directive: directiveOf(asked, kind) }
}

function directiveOf({ id, userId, deviceId, nowMs }: Asked, kind: Directive["kind"]): Directive {
  return { id, kind, status: "OPEN", userId, deviceId, issuedAtMs: nowMs, lease: null }
}
