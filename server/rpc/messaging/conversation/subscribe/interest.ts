import type { ConversationId } from "@signet/kernel/ids"
import type { Audience } from "@signet/kernel/messaging/listening"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../../deps.ts"

const pageSize = 200

/** The users of each conversation that the device is in, or of `only` if the device is in it. */
export async function audiencesOf(
  { store }: Pick<MessagingDeps, "store">,
  device: MessagingDevice,
  only: ConversationId | null,
): Promise<ReadonlyMap<ConversationId, Audience>> {
  const of = { deviceId: device.id, userId: device.userId, place: device }
  const found = new Map<ConversationId, Audience>()
  let after: ConversationId | null = null
  for (;;) {
    const page: readonly Audience[] = await store.conversations.audiences(of, { size: pageSize, after, only })
    for (const audience of page) found.set(audience.conversationId, audience)
    after = page.at(-1)?.conversationId ?? null
    if (page.length < pageSize) return found
  }
}
