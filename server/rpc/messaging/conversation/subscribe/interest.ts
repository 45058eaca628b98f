import type { ConversationId } from "@signet/kernel/ids"
import type { Audience } from "@signet/kernel/messaging/listening"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../../deps.ts"

const pageSize = 200

/** Who belongs to the conversations that the device is in; or to `only` alone, if it is in that. */
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
