import type { ConversationId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { Conversations } from "@signet/kernel/messaging/ports"
import type { Conversation } from "@signet/kernel/messaging/records"
import { createRosters } from "@signet/kernel/messaging/rosters"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import { ask } from "./asking.ts"
import { createConversation } from "./conversation/create.ts"
import { directing } from "./conversation/directing.ts"
import { listing } from "./conversation/listing.ts"
import type { DurableEnv } from "./env.ts"

/** Each conversation is an object, which signs its own receipts and prunes by its own alarm. */
export function durableConversations(env: DurableEnv): Conversations {
  const { CONVERSATIONS } = env
  const rosters = createRosters()

  /** Adds the roster of the newest receipt, which is not sent again to a process that has it. */
  async function whole<Answer>(
    id: ConversationId,
    read: (knownReceipt: Uint8Array | null) => Promise<Answer | undefined>,
    of: (answer: Answer) => Conversation,
    withRoster: (answer: Answer, conversation: Conversation) => Answer,
  ): Promise<Answer | undefined> {
    const known = rosters.get(id)
    const answer = await ask(() => read(known?.receiptHash ?? null))
    if (answer === undefined) return undefined
    const conversation = of(answer)
    const { receiptHash } = conversation.state ?? {}
    if (receiptHash === undefined) return answer
    const isKnown = known !== undefined && equalBytes(known.receiptHash, receiptHash)
    if (isKnown) return withRoster(answer, { ...conversation, roster: known.roster })
    rosters.put(id, { receiptHash, roster: conversation.roster })
    return answer
  }

  return {
    create: createConversation(env),

    find: (id) =>
      whole(
        id,
        (receipt) => CONVERSATIONS.getByName(id).find(receipt),
        (found) => found,
        (_, conversation) => conversation,
      ),

    findSeen: (id, deviceId, idempotencyKey) =>
      whole(
        id,
        (receipt) => CONVERSATIONS.getByName(id).open(deviceId, idempotencyKey ?? null, receipt),
        ({ conversation }) => conversation,
        (opened, conversation) => ({ ...opened, conversation }),
      ),

    append: (append, _, nowMs, audit) =>
      ask(() => CONVERSATIONS.getByName(append.conversationId).append(exact(append), nowMs, audit)),

    commitOf: (id, epoch) => ask(() => CONVERSATIONS.getByName(id).commitOf(epoch)),

    async messages(id, afterSeq, page) {
      const found = await ask(() => CONVERSATIONS.getByName(id).messages(afterSeq, page))
      return found ?? { envelopes: [], headSeq: 0n, firstSeq: 1n }
    },

    membershipSpan: (id, deviceId, afterSeq) => ask(() => CONVERSATIONS.getByName(id).span(deviceId, afterSeq)),

    ack: (id, deviceId, cursor) => ask(() => CONVERSATIONS.getByName(id).ack(deviceId, cursor)),

    touch: (id, deviceId, nowMs) => ask(() => CONVERSATIONS.getByName(id).touch(deviceId, nowMs)),

    online: (id, sinceMs) => ask(() => CONVERSATIONS.getByName(id).online(sinceMs)),

    groupInfo: (id) => ask(() => CONVERSATIONS.getByName(id).groupInfo()),

    tree: (id, hash, offset) => ask(() => CONVERSATIONS.getByName(id).tree(hash, offset)),

    /** Each object's alarm prunes its log. */
    prune: async () => 0,

    ...listing(env),
    ...directing(env),
  }
}

/** A view of a larger buffer would be sent with the whole buffer, so it is copied. */
function exact(append: VerifiedAppend): VerifiedAppend {
  const { commit, resubmitted } = append
  const receipt = resubmitted?.receipt && { ...resubmitted.receipt, bytes: resubmitted.receipt.bytes.slice() }
  return {
    ...append,
    ...(resubmitted && receipt ? { resubmitted: { ...resubmitted, receipt } } : {}),
    idempotencyKey: append.idempotencyKey.slice(),
    message: append.message.slice(),
    contentHash: append.contentHash.slice(),
    commit: commit && {
      ...commit,
      groupInfo: commit.groupInfo && { ...commit.groupInfo, bytes: commit.groupInfo.bytes.slice() },
      tree: commit.tree && { ...commit.tree, bytes: commit.tree.bytes.slice() },
      welcomes: commit.welcomes.map((one) => ({ ...one, welcome: one.welcome.slice() })),
    },
  }
}
