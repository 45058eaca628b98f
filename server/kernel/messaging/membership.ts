// Authorizes membership changes and determines the contents of their proofs. In V1 all members of a group are equal:
// each may add users of its app and tenant, and remove others. A direct conversation keeps its two users.
import type { Reason } from "../errors.ts"
import type { DeviceId, DirectiveId, PrincipalId } from "../ids.ts"
import { equalBytes } from "./bytes.ts"
import { isOnTheWayOut, mayCarryOut, requiredCommit, targetsOf } from "./directive.ts"
import { maxCount } from "./limits.ts"
import type { Conversation, Directive, KeyPackageRecord, Leaf } from "./records.ts"
import { leafOf } from "./roster.ts"

/** The requested change. Its users are active and belong to the conversation's app and tenant. */
export type WantedChange =
  | { readonly is: "create" }
  | { readonly is: "add"; readonly userIds: readonly PrincipalId[]; readonly deviceIds: readonly DeviceId[] }
  | { readonly is: "remove"; readonly userIds: readonly PrincipalId[]; readonly deviceIds: readonly DeviceId[] }
  | { readonly is: "carryOut"; readonly directiveId: DirectiveId }

export interface MembershipQuestion {
  readonly conversation: Conversation
  readonly requester: { readonly deviceId: DeviceId; readonly userId: PrincipalId }
  /** The epoch that the commit starts from. */
  readonly baseEpoch: bigint
  /** Null at epoch 0. */
  readonly baseStateTag: Uint8Array | null
  readonly change: WantedChange
  readonly nowMs: number
}

/** The users and devices whose key packages a change claims. */
export interface ClaimTargets {
  readonly userIds: readonly PrincipalId[]
  readonly deviceIds: readonly DeviceId[]
}

export type MembershipOp = "CREATE" | "ADD" | "REMOVE" | "LEAVE" | "REJOIN" | "RESET"

export type MembershipDecision =
  /** Key packages of these targets are needed; `decideAdded` continues with the claimed ones. */
  | {
      readonly is: "add"
      readonly op: MembershipOp
      readonly targets: ClaimTargets
      readonly directive: Directive | null
    }
  | {
      readonly is: "remove"
      readonly op: MembershipOp
      readonly leaves: readonly Leaf[]
      readonly directive: Directive | null
    }
  /** The base is another epoch. The error details name the current one. */
  | { readonly is: "epoch"; readonly reason: "STALE_EPOCH" | "FUTURE_EPOCH" }
  /** A removal must be committed first. */
  | { readonly is: "commitRequired"; readonly directive: Directive }
  | { readonly is: "refuse"; readonly reason: Reason }

const refuse = (reason: Reason): MembershipDecision => ({ is: "refuse", reason })

/** Decides whether the change is allowed and which leaves it concerns. */
export function decideMembership(question: MembershipQuestion): MembershipDecision {
  const { conversation, requester, baseEpoch, change } = question
  const { epoch, state } = conversation
  if (conversation.status === "CLOSED") return refuse("CONVERSATION_CLOSED")
  const own = leafOf(conversation.roster, requester.deviceId)
  const isAsked = epoch === 0n && conversation.userIds.includes(requester.userId)
  if (own === undefined && !isAsked) return refuse("NOT_MEMBER")
  const leaving = own && isOnTheWayOut(conversation.directives, own)
  if (leaving !== undefined) return refuse(leaving)
  if (baseEpoch !== epoch) return { is: "epoch", reason: baseEpoch < epoch ? "STALE_EPOCH" : "FUTURE_EPOCH" }
  if (state !== null && !equalBytes(state.stateTag, question.baseStateTag ?? new Uint8Array())) {
    return refuse("PROOF_STALE")
  }
  if ((epoch === 0n) !== (change.is === "create")) return refuse(epoch === 0n ? "NOT_MEMBER" : "NOTHING_TO_DO")
  if (change.is === "carryOut") return decideCarryOut(question, change.directiveId)
  const required = requiredCommit(conversation, "COMMIT", question.nowMs)
  if (required !== undefined) return { is: "commitRequired", directive: required }
  switch (change.is) {
    case "create":
      return { is: "add", op: "CREATE", targets: { userIds: conversation.userIds, deviceIds: [] }, directive: null }
    case "add":
      return conversation.status === "QUARANTINED"
        ? refuse("CONVERSATION_QUARANTINED")
        : decideAdd(conversation, change)
    case "remove":
      return conversation.status === "QUARANTINED"
        ? refuse("CONVERSATION_QUARANTINED")
        : decideRemove(conversation, requester, change)
  }
}

function decideAdd(conversation: Conversation, { userIds, deviceIds }: ClaimTargets): MembershipDecision {
  if (userIds.length + deviceIds.length === 0) return refuse("NOTHING_TO_DO")
  if (conversation.kind === "DIRECT" && userIds.some((id) => !conversation.userIds.includes(id))) {
    return refuse("MEMBERSHIP_CHANGE_NOT_ALLOWED")
  }
  return { is: "add", op: "ADD", targets: { userIds, deviceIds }, directive: null }
}

function decideRemove(
  conversation: Conversation,
  requester: MembershipQuestion["requester"],
  { userIds, deviceIds }: ClaimTargets,
): MembershipDecision {
  const leaves = conversation.roster.filter(
    (leaf) => userIds.includes(leaf.userId) || deviceIds.includes(leaf.deviceId),
  )
  if (leaves.length === 0) return refuse("NOTHING_TO_DO")
  if (leaves.length > maxCount.subjectsPerCommit) return refuse("LIMIT_EXCEEDED")
  // A device cannot remove itself (RFC 9420 section 12.2): its user calls LeaveConversation.
  if (leaves.some(({ deviceId }) => deviceId === requester.deviceId)) return refuse("MEMBERSHIP_CHANGE_NOT_ALLOWED")
  const isOthers = leaves.some(({ userId }) => userId !== requester.userId)
  if (conversation.kind === "DIRECT" && isOthers) return refuse("MEMBERSHIP_CHANGE_NOT_ALLOWED")
  return { is: "remove", op: "REMOVE", leaves, directive: null }
}

function decideCarryOut({ conversation, requester, nowMs }: MembershipQuestion, id: DirectiveId): MembershipDecision {
  const directive = conversation.directives.find((one) => one.id === id)
  if (directive === undefined) return refuse("NOT_FOUND")
  if (directive.status === "DONE") return refuse("NOTHING_TO_DO")
  if (!mayCarryOut(directive, requester.deviceId, nowMs)) return refuse("DIRECTIVE_LEASED")
  const required = requiredCommit(conversation, "COMMIT", nowMs)
  if (required !== undefined && directive.kind === "REJOIN") return { is: "commitRequired", directive: required }
  if (directive.status === "REMOVED") {
    const deviceIds = directive.deviceId === null ? [] : [directive.deviceId]
    return { is: "add", op: "REJOIN", targets: { userIds: [], deviceIds }, directive }
  }
  const leaves = targetsOf(directive, conversation.roster)
  if (leaves.length === 0) return refuse("NOTHING_TO_DO")
  const op = directive.kind === "REVOCATION" ? "REMOVE" : directive.kind
  return { is: "remove", op, leaves: leaves.slice(0, maxCount.subjectsPerCommit), directive }
}

export type AddedDecision =
  | { readonly is: "add"; readonly packages: readonly KeyPackageRecord[] }
  | {
      readonly is: "refuse"
      readonly reason: "NOTHING_TO_DO" | "NO_KEY_PACKAGE" | "LIMIT_EXCEEDED" | "MEMBERSHIP_CHANGE_NOT_ALLOWED"
    }

/**
 * Returns the claimed packages that a proof adds: without current members and without the requester's own. Refuses
 * packages of users who are not part of a direct conversation.
 */
export function decideAdded(
  conversation: Conversation,
  requesterDeviceId: DeviceId,
  claimed: readonly KeyPackageRecord[],
): AddedDecision {
  if (claimed.length === 0) return { is: "refuse", reason: "NO_KEY_PACKAGE" }
  const foreign = claimed.some(({ userId }) => !conversation.userIds.includes(userId))
  if (conversation.kind === "DIRECT" && foreign) return { is: "refuse", reason: "MEMBERSHIP_CHANGE_NOT_ALLOWED" }
  const packages = claimed.filter(
    ({ deviceId }) => deviceId !== requesterDeviceId && leafOf(conversation.roster, deviceId) === undefined,
  )
  if (packages.length === 0) return { is: "refuse", reason: "NOTHING_TO_DO" }
  // The requester becomes the first leaf of a new group.
  const first = conversation.roster.length === 0 ? 1 : 0
  const isTooMany =
    packages.length > maxCount.subjectsPerCommit ||
    conversation.roster.length + first + packages.length > conversation.maxLeaves
  return isTooMany ? { is: "refuse", reason: "LIMIT_EXCEEDED" } : { is: "add", packages }
}

/**
 * True if the user may see the conversation: a user of its leaves or, before the first commit or in a direct
 * conversation, one that it was created with.
 */
export function sees(conversation: Conversation, userId: PrincipalId): boolean {
  if (conversation.roster.some((leaf) => leaf.userId === userId)) return true
  return (conversation.epoch === 0n || conversation.kind === "DIRECT") && conversation.userIds.includes(userId)
}
