import type { ConversationId, PrincipalId } from "@signet/kernel/ids"
import type { SeenConversation } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../deps.ts"

/** What a device listens to, as of now. */
export interface Listening {
  readonly userIds: readonly PrincipalId[]
  /** Newest place of each conversation. */
  readonly heads: ReadonlyMap<ConversationId, bigint>
  /** Those whose log is ahead of the device's cursor. */
  readonly ahead: readonly {
    readonly conversationId: ConversationId
    readonly headSeq: bigint
    readonly processedSeq: bigint
  }[]
  /** Those that wait for somebody who is online. */
  readonly waiting: ReadonlySet<ConversationId>
}

const pageSize = 200

export async function listeningOf(
  { store }: Pick<MessagingDeps, "store">,
  device: MessagingDevice,
): Promise<Listening> {
  const users = new Set<PrincipalId>([device.userId])
  const heads = new Map<ConversationId, bigint>()
  const ahead: { conversationId: ConversationId; headSeq: bigint; processedSeq: bigint }[] = []
  const waiting = new Set<ConversationId>()
  for await (const { conversation, cursor } of all(store, device)) {
    const { id, headSeq } = conversation
    heads.set(id, headSeq)
    for (const leaf of conversation.roster) users.add(leaf.userId)
    if (headSeq > cursor.processedSeq) {
      ahead.push({ conversationId: id, headSeq, processedSeq: cursor.processedSeq })
    }
    if (conversation.directives.length > 0) waiting.add(id)
  }
  return { userIds: [...users], heads, ahead, waiting }
}

async function* all(store: MessagingDeps["store"], device: MessagingDevice): AsyncGenerator<SeenConversation> {
  const of = { deviceId: device.id, userId: device.userId, place: device }
  let before: { createdAtMs: number; id: ConversationId } | null = null
  for (;;) {
    const page: readonly SeenConversation[] = await store.conversations.list(of, { size: pageSize, before })
    yield* page
    const last = page.at(-1)?.conversation
    if (last === undefined || page.length < pageSize) return
    before = { createdAtMs: last.createdAtMs, id: last.id }
  }
}
