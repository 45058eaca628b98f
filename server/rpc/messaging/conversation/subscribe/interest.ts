import type { ConversationId } from "@signet/kernel/ids"
import type { MemberUsers } from "@signet/kernel/messaging/listening"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../../deps.ts"

const pageSize = 200

/** The users of each conversation that the device is in, or of `only` if the device is in it. */
export async function memberUsersOf(
  { store }: Pick<MessagingDeps, "store">,
  device: MessagingDevice,
  only: ConversationId | null,
): Promise<ReadonlyMap<ConversationId, MemberUsers>> {
  const of = { deviceId: device.id, userId: device.userId, place: device }
  const found = new Map<ConversationId, MemberUsers>()
  let after: ConversationId | null = null
  for (;;) {
    const page: readonly MemberUsers[] = await store.conversations.memberUsers(of, { size: pageSize, after, only })
    for (const memberUsers of page) found.set(memberUsers.conversationId, memberUsers)
    after = page.at(-1)?.conversationId ?? null
    if (page.length < pageSize) return found
  }
}
