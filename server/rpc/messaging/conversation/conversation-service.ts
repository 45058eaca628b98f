import type { ServiceImpl } from "@connectrpc/connect"
import { toHex } from "@signet/canonical/bytes"
import { isHiddenFrom } from "@signet/kernel/messaging/block"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import { Conversation_Status } from "@signet/proto/messaging/v1/records"
import { deviceOf } from "../../../serving/call/calling-device.ts"
import { pageAsked, pageFound } from "../../page.ts"
import { createAttendance } from "../attendance.ts"
import { authorizeMembership } from "../authorize.ts"
import { countChange } from "../counted.ts"
import type { MessagingDeps } from "../deps.ts"
import { limitsShape } from "../limits-shape.ts"
import { type After, realAfter, separateBeats } from "../timers.ts"
import { appendMessage } from "./append/append.ts"
import { resubmitMessages } from "./append/resubmit.ts"
import { conversationShape, directiveShape, envelopeShape } from "./conversation-shape.ts"
import { createConversation } from "./create.ts"
import { lease, leave, requestRejoin } from "./directives.ts"
import { reportFork } from "./fork.ts"
import { ackMessages, groupInfo, listMessages, openSeen, treeChunk } from "./reads.ts"
import { conversationIdOf, seen } from "./seen.ts"
import { endingOf } from "./subscribe/alive.ts"
import { createStreams, type Streams } from "./subscribe/streams.ts"
import { subscribe } from "./subscribe/subscribe.ts"
import { separateTails } from "./subscribe/tails.ts"

/** @param after Timers of the streams that `streams` counts. */
export function conversationService(
  deps: MessagingDeps,
  after: After = realAfter,
  streams: Streams = createStreams(),
): ServiceImpl<typeof ConversationService> {
  const attendance = createAttendance(deps)
  const separate: typeof deps.shared = {
    beats: separateBeats(after),
    endingOf: (owner) => endingOf(deps, owner),
    rosters: { shared: ({ userIds }) => userIds },
    readTail: separateTails(deps),
  }
  const streaming = { ...deps, attendance, after, streams, ...(deps.shared ?? separate) }
  return {
    getLimits: () => ({ limits: limitsShape(deps) }),
    createConversation: (request, context) => createConversation(deps, context, request),

    async getConversation(request, context) {
      const { conversation, cursor } = await openSeen(deps, context, request.conversationId)
      return { conversation: conversationShape(conversation, cursor) }
    },

    async listConversations(request, context) {
      const device = deviceOf(context)
      const filter = [request.unjoined ? "unjoined" : "conversations", device.id]
      const asked = pageAsked(deps.secrets, "cnv", filter, request)
      const found = await deps.store.conversations.list(
        { deviceId: device.id, userId: device.userId, place: device, isUnjoined: request.unjoined },
        asked,
      )
      const rows = found.map(({ conversation, cursor }) => ({ ...conversation, cursor }))
      const { page, nextPageToken } = pageFound(deps.secrets, filter, request, rows)
      const blocked = await deps.store.blocks.ofUser(device.userId, device)
      const shown = page.filter((conversation) => !isHiddenFrom(blocked, conversation))
      return {
        conversations: shown.map(({ cursor, ...conversation }) => ({
          ...conversationShape(conversation, cursor),
          members: [],
        })),
        nextPageToken,
        blockListVersion: blocked.version,
      }
    },

    authorizeMembership: async (request, context) => ({
      authorization: await authorizeMembership(deps, context, request),
    }),

    async appendMessage(request, context) {
      const answer = await appendMessage(deps, context, request)
      await attendance.touch(conversationIdOf(request.conversationId), deviceOf(context).id)
      return answer
    },

    async resubmitMessages(request, context) {
      const answer = await resubmitMessages(deps, context, request)
      await attendance.touch(conversationIdOf(request.conversationId), deviceOf(context).id)
      return answer
    },

    async listMessages(request, context) {
      const { id } = deviceOf(context)
      const { envelopes, headSeq, isMember } = await listMessages(deps, context, request)
      if (isMember && !request.readAhead) await attendance.touch(conversationIdOf(request.conversationId), id)
      return { envelopes: envelopes.map((envelope) => envelopeShape(envelope, id)), headSeq }
    },

    async ackMessages(request, context) {
      await countChange(deps, context)
      const cursor = await ackMessages(deps, context, request)
      await attendance.touch(conversationIdOf(request.conversationId), deviceOf(context).id)
      return { cursor }
    },

    async getGroupInfo(request, context) {
      const { bytes, epoch, treeHash } = await groupInfo(deps, context, request.conversationId)
      return { groupInfo: bytes, epoch, treeHash: treeHash === null ? "" : toHex(treeHash) }
    },

    getTree: (request, context) => treeChunk(deps, context, request),

    async listDirectives(request, context) {
      const { directives } = await seen(deps, context, request.conversationId)
      return { directives: directives.slice(0, maxCount.openDirectives).map(directiveShape) }
    },

    leaseDirective: async (request, context) => ({ directive: directiveShape(await lease(deps, context, request)) }),

    async leaveConversation(request, context) {
      const directive = await leave(deps, context, request.conversationId)
      return directive === null ? {} : { directive: directiveShape(directive) }
    },

    async requestRejoin(request, context) {
      const directive = await requestRejoin(deps, context, request)
      return directive === null ? {} : { directive: directiveShape(directive) }
    },

    async reportFork(request, context) {
      const { status } = await reportFork(deps, context, request)
      return { status: Conversation_Status[status] }
    },

    subscribe: (request, context) => subscribe(streaming, context, request),
  }
}
