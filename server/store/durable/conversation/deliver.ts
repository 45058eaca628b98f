// Delivers a conversation's notices, one outbox entry at a time.
import type { Conversation } from "@signet/kernel/messaging/records"
import type { DurableEnv } from "../env.ts"
import { placeName, userName } from "../names.ts"
import type { Sql } from "../sql.ts"
import type { Delivery, DeviceDelivery } from "./notices.ts"
import { dueWelcome, markSent } from "./welcomes.ts"

interface DeliveryContext {
  readonly env: Pick<DurableEnv, "DEVICES" | "USERS" | "PLACES">
  readonly sql: Sql
  readonly conversation: Conversation
  /** True if no call awaits the delivery and does the follow-up. */
  readonly isLate: boolean
  readonly revoke: (of: DeviceDelivery) => void
}

export async function deliver(of: DeliveryContext, delivery: Delivery): Promise<void> {
  const { env, conversation } = of
  switch (delivery.kind) {
    case "device":
      return deliverToDevice(of, delivery)
    case "user":
      return env.USERS.getByName(userName(delivery.userId, conversation)).applyNotice(delivery.notice)
    case "place":
      return env.PLACES.getByName(placeName(conversation)).addConversation(conversation.id, delivery.createdAtMs)
  }
}

async function deliverToDevice(
  { env, sql, conversation, isLate, revoke }: DeliveryContext,
  delivery: DeviceDelivery,
): Promise<void> {
  const { deviceId, userId, notice, welcomeId } = delivery
  const welcome = welcomeId === null ? undefined : dueWelcome(sql, conversation, welcomeId)
  await env.DEVICES.getByName(deviceId).applyNotice(notice, welcome)
  if (welcome !== undefined) markSent(sql, welcome.id)
  // Otherwise the call of the commit does the follow-up.
  if (!isLate) return
  await env.DEVICES.getByName(deviceId).hear([{ is: "member", deviceId, conversationId: conversation.id }])
  if (!notice.isMember || notice.isClosed) return
  const device = await env.USERS.getByName(userName(userId, conversation)).find(deviceId)
  if (device?.status !== "ACTIVE") revoke(delivery)
}
