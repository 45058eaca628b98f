// Commits and messages of a test device. Each is staged before it is sent, so that a test can send something else.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { buildConversationBinding } from "@signet/canonical/conversation-binding"
import { idOf } from "@signet/kernel/ids"
import { ConversationKind as CanonicalKind, EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import type {
  AppendMessageResponse,
  AuthorizeMembershipRequestSchema,
  CreateConversationRequestSchema,
  CreateConversationResponse,
} from "@signet/proto/messaging/v1/conversation_service"
import { type Authorization, type Conversation, ConversationKind } from "@signet/proto/messaging/v1/records"
import {
  type CommitOptions,
  type Identity,
  membersOf,
  type StagedCommit,
  stateTag,
} from "../../../clients/core/messaging/mls.ts"
import { bytesOf, deviceIn, engine, hexOf, nowSeconds, randomBytes } from "./device-parts.ts"
import type { Own } from "./own.ts"
import { aadOf, newRoom, type Room } from "./room.ts"

type Init<Kind extends { case?: string | undefined; value?: unknown } | undefined> = Exclude<
  Kind,
  undefined | { case?: undefined }
>
export type NewConversation = Init<MessageInitShape<typeof CreateConversationRequestSchema>["kind"]>
type Change = Init<MessageInitShape<typeof AuthorizeMembershipRequestSchema>["change"]>

export interface Append {
  readonly conversationId: string
  readonly idempotencyKey: Uint8Array
  readonly expectedEpoch: bigint
  readonly payload: { case: "application"; value: Uint8Array } | { case: "commit"; value: CommitPayload }
  readonly processedSeq?: bigint
}
export interface CommitPayload {
  commit: Uint8Array
  groupInfo: Uint8Array
  tree?: Uint8Array
  welcome?: Uint8Array
  claimTickets: Uint8Array[]
}

/** A commit that is staged but not sent. */
export interface StagedAppend {
  readonly room: Room
  readonly request: Append & { readonly payload: { case: "commit"; value: CommitPayload } }
  readonly staged: StagedCommit
}

/** Users and devices that a commit adds or removes. */
export interface Subjects {
  userIds?: string[]
  deviceIds?: string[]
}

/** The inputs of a reset. */
interface ResetOver {
  readonly mlsGroupId: Uint8Array
  readonly epoch: bigint
}

export interface Committing {
  create(kind: NewConversation): Promise<CreateConversationResponse>
  /** Stages the first commit of a created conversation. */
  stageFirst(conversation: Conversation, authorization: Authorization): Promise<StagedAppend>
  authorize(room: Room, change: Change): Promise<Authorization>
  authorizeAdd(room: Room, subjects: Subjects, claimId?: string): Promise<Authorization>
  authorizeRemove(room: Room, subjects: Subjects): Promise<Authorization>
  authorizeCarryOut(room: Room, directiveId: string): Promise<Authorization>
  authorizeReset(conversationId: string, claimId?: string): Promise<Authorization>
  /**
   * Stages the first commit of the group that replaces the conversation's. @param over Values other than the authorized
   * ones.
   */
  stageReset(conversation: Conversation, authorization: Authorization, over?: Partial<ResetOver>): Promise<StagedAppend>
  /** Stages the commit of an authorization. */
  stageChange(room: Room, authorization: Authorization): Promise<StagedAppend>
  /** Stages a commit without membership changes. */
  stageUpdate(room: Room, identity?: Identity): Promise<StagedAppend>
  /** Encrypts a text. The request can be sent repeatedly. */
  stageText(room: Room, text: string): Promise<Append>
  append(request: Append | StagedAppend): Promise<AppendMessageResponse>
}

export const newClaimId = (): string => idOf("clm", randomBytes(16))

export function committing(own: Own): Committing {
  const { calls, rooms } = own

  const stage = async (
    room: Room,
    authorization: Authorization | undefined,
    make: (options: CommitOptions) => Promise<StagedCommit>,
  ): Promise<StagedAppend> => {
    const proof = authorization?.proof
    const staged = await make({ aad: aadOf(room, EnvelopeKind.COMMIT, proof), ...(proof ? { proof } : {}) })
    room.staged.push(staged)
    const { commit, groupInfo, welcome } = staged
    const value = {
      commit,
      groupInfo,
      ...(welcome ? { welcome, tree: staged.tree() } : {}),
      claimTickets: authorization?.claim ? [authorization.claim.ticket] : [],
    }
    const payload = { case: "commit", value } as const
    return { room, staged, request: { ...newAppend(room), payload } }
  }

  const authorize: Committing["authorize"] = async (room, change) => {
    const { authorization } = await calls.conversations.authorizeMembership({
      conversationId: room.id,
      baseEpoch: room.epoch,
      baseStateTag: room.epoch === 0n ? new Uint8Array() : stateTag(room.state),
      change,
    })
    if (authorization === undefined) throw new Error("no authorization in the answer")
    return authorization
  }

  const stageChange: Committing["stageChange"] = (room, { claim, keyPackageRefs, removedDeviceIds, ...rest }) => {
    const allowed = new Set(keyPackageRefs.map(hexOf))
    const added = (claim?.keyPackages ?? []).filter((one) => allowed.has(hexOf(one.keyPackageRef)))
    const packages = added.map(({ keyPackage }) => keyPackage)
    const leaves = leavesOf(room, removedDeviceIds)
    const authorization = { claim, keyPackageRefs, removedDeviceIds, ...rest }
    return stage(room, authorization, (options) =>
      packages.length > 0 ? engine.add(room.state, packages, options) : engine.remove(room.state, leaves, options),
    )
  }

  /** A new group with this device only. */
  const begin = async ({ id, kind, headSeq: seq }: Conversation, { mlsGroupId, epoch }: ResetOver): Promise<Room> => {
    const binding = buildConversationBinding({
      appId: own.place.appId,
      tenantId: own.place.tenantId,
      conversationId: bytesOf("cnv", id),
      kind: kind === ConversationKind.DIRECT ? CanonicalKind.DIRECT : CanonicalKind.GROUP,
    })
    const notBefore = nowSeconds() - 3_600
    const life = { notBefore, notAfter: notBefore + 30 * 86_400 }
    const state = await engine.createGroup({ groupId: mlsGroupId, identity: own.identity, binding, epoch, ...life })
    const room = newRoom({ id, state, seq, epoch, receipt: epoch === 0n ? "first" : "unknown" })
    rooms.set(id, room)
    return room
  }

  return {
    create: (kind) =>
      calls.conversations.createConversation({ kind, idempotencyKey: randomBytes(16), claimId: newClaimId() }),
    stageFirst: async (conversation, authorization) =>
      stageChange(await begin(conversation, { mlsGroupId: conversation.mlsGroupId, epoch: 0n }), authorization),
    async authorizeReset(conversationId, claimId = newClaimId()) {
      const change = { case: "reset", value: { claimId } } as const
      const { authorization } = await calls.conversations.authorizeMembership({ conversationId, change })
      if (authorization === undefined) throw new Error("no authorization in the answer")
      return authorization
    },
    async stageReset(conversation, authorization, over = {}) {
      const at = { mlsGroupId: authorization.mlsGroupId, epoch: conversation.epoch, ...over }
      return stageChange(await begin(conversation, at), authorization)
    },
    authorize,
    authorizeAdd: (room, subjects, claimId = newClaimId()) =>
      authorize(room, { case: "add", value: { ...subjects, claimId } }),
    authorizeRemove: (room, subjects) => authorize(room, { case: "remove", value: subjects }),
    authorizeCarryOut: (room, directiveId) =>
      authorize(room, { case: "carryOut", value: { directiveId, claimId: newClaimId() } }),
    stageChange,
    stageUpdate: (room, identity) =>
      stage(room, undefined, (options) => engine.update(room.state, { ...options, ...(identity ? { identity } : {}) })),
    async stageText(room, text) {
      const aad = aadOf(room, EnvelopeKind.APPLICATION)
      const { message, next, finish } = await engine.encrypt(room.state, new TextEncoder().encode(text), aad)
      finish()
      room.state = next
      return { ...newAppend(room), payload: { case: "application", value: message } }
    },
    append: (request) => calls.conversations.appendMessage("staged" in request ? request.request : request),
  }
}

const newAppend = (room: Room) => ({
  conversationId: room.id,
  idempotencyKey: randomBytes(16),
  expectedEpoch: room.epoch,
})

/** The leaves of the devices. */
function leavesOf({ state }: Room, deviceIds: readonly string[]): number[] {
  const wanted = deviceIds.map((id) => hexOf(bytesOf("dev", id)))
  return membersOf(state)
    .filter(({ credential }) => wanted.includes(deviceIn(credential)))
    .map(({ leaf }) => leaf)
}
