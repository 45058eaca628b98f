import type { ConversationId } from "@signet/kernel/ids"
import { fractionOf, type PushTargets } from "@signet/kernel/messaging/push"
import type { Leaf, MessagingDevice } from "@signet/kernel/messaging/records"
import type { MessagingDeps } from "../deps.ts"

/**
 * Schedules the pushes of an append: for a message to the members of other users, for a commit to the added devices of
 * other users. A failure is not reported: the append is stored, and a lost push costs only time.
 *
 * @param joined The devices that a commit makes members; null for a message.
 */
export async function schedulePushes(
  { pushes, clock, random }: Pick<MessagingDeps, "pushes" | "clock" | "random">,
  { userId }: MessagingDevice,
  conversationId: ConversationId,
  joined: readonly Pick<Leaf, "deviceId" | "userId">[] | null,
): Promise<void> {
  if (pushes === null) return
  const others = joined?.filter((leaf) => leaf.userId !== userId).map(({ deviceId }) => deviceId)
  if (others?.length === 0) return
  const targets: PushTargets = others === undefined ? { conversationId, exceptUserId: userId } : { deviceIds: others }
  await pushes.endpoints.schedule(targets, clock.nowMs(), () => fractionOf(random.bytes(2))).catch(() => undefined)
}
