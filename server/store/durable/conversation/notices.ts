// The notices of a conversation's changes to the objects of its devices and users, and to its place's index. A notice
// is written with its change and delivered afterwards: at least once, in order for each receiver.
import type { ConversationId, DeviceId, PrincipalId, WelcomeId } from "@signet/kernel/ids"
import type { Conversation, Leaf } from "@signet/kernel/messaging/records"
import type { SplitWelcome } from "@signet/kernel/messaging/verified"
import type { Entry, Outbox } from "../outbox.ts"

/** The state of a conversation as a device's object stores it. The newest revision wins. */
export interface DeviceNotice {
  readonly conversationId: ConversationId
  readonly revision: number
  readonly createdAtMs: number
  /** The device has a leaf. */
  readonly isMember: boolean
  readonly isClosed: boolean
  /** The device's welcomes from commits before this sequence number are void; null for none. */
  readonly voidBeforeSeq: bigint | null
}

/** The state of a conversation as a user's object stores it. The newest revision wins. */
export interface UserNotice {
  readonly conversationId: ConversationId
  readonly revision: number
  readonly createdAtMs: number
  /** One of the user's devices has a leaf. */
  readonly isMember: boolean
  /** The user is part of the new conversation, which has no member yet. */
  readonly isAsked: boolean
}

export interface DeviceDelivery {
  readonly kind: "device"
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly notice: DeviceNotice
  readonly welcomeId: WelcomeId | null
}

interface UserDelivery {
  readonly kind: "user"
  readonly userId: PrincipalId
  readonly notice: UserNotice
}

interface PlaceDelivery {
  readonly kind: "place"
  readonly createdAtMs: number
}

export type Delivery = DeviceDelivery | UserDelivery | PlaceDelivery

/** Requires the transaction of the change. */
export function putDeliveries(outbox: Outbox, all: readonly Delivery[]): void {
  for (const delivery of all) outbox.add({ lane: laneOf(delivery), kind: delivery.kind, body: delivery })
}

/** The outbox lane of a notice, within which the order is kept. */
export function laneOf(delivery: Delivery): string {
  switch (delivery.kind) {
    case "device":
      return `device/${delivery.deviceId}`
    case "user":
      return `user/${delivery.userId}`
    case "place":
      return "place"
  }
}

/** True for an entry that `putDeliveries` added. */
export const isDelivery = (entry: Entry): entry is Entry & { readonly body: Delivery } =>
  ["device", "user", "place"].includes(entry.kind)

/** A new conversation: its users see it from now on. */
export function createdDeliveries({ id, createdAtMs, userIds }: Conversation): readonly Delivery[] {
  const notice: UserNotice = { conversationId: id, createdAtMs, revision: 1, isMember: false, isAsked: true }
  const users = [...new Set(userIds)].map((userId): Delivery => ({ kind: "user", userId, notice }))
  return [{ kind: "place", createdAtMs }, ...users]
}

/** A commit: the added and removed devices, and the users who gained their first leaf or lost their last. */
export function committedDeliveries(
  before: Conversation,
  after: Conversation,
  of: {
    readonly revision: number
    readonly added: readonly Leaf[]
    readonly gone: readonly Leaf[]
    readonly welcomes: readonly SplitWelcome[]
  },
): readonly Delivery[] {
  const facts = { conversationId: after.id, createdAtMs: after.createdAtMs, revision: of.revision }
  const isIn = new Set(after.roster.map(({ deviceId }) => deviceId))
  const isGone = new Set(of.gone.map(({ deviceId }) => deviceId))
  const welcomes = new Map(of.welcomes.map(({ id, deviceId }) => [deviceId, id]))
  const moved = new Map([...of.gone, ...of.added].map((leaf) => [leaf.deviceId, leaf]))
  const devices = [...moved.values()].map(({ deviceId, userId }): Delivery => {
    const voidBeforeSeq = isGone.has(deviceId) ? after.headSeq : null
    const notice = { ...facts, isMember: isIn.has(deviceId), isClosed: after.status === "CLOSED", voidBeforeSeq }
    return { kind: "device", deviceId, userId, notice, welcomeId: welcomes.get(deviceId) ?? null }
  })
  const was = new Set(before.roster.map(({ userId }) => userId))
  const is = new Set(after.roster.map(({ userId }) => userId))
  const asked = before.epoch === 0n ? before.userIds : []
  const came = [...is].filter((id) => !was.has(id))
  const went = [...was].filter((id) => !is.has(id))
  const users = [...new Set([...came, ...went, ...asked])].map((userId): Delivery => {
    return { kind: "user", userId, notice: { ...facts, isMember: is.has(userId), isAsked: false } }
  })
  return [...devices, ...users]
}

/** A closed conversation: its devices need no removal from it. */
export function closedDeliveries({ id, createdAtMs, roster }: Conversation, revision: number): readonly Delivery[] {
  const facts = { conversationId: id, createdAtMs, revision }
  const notice: DeviceNotice = { ...facts, isMember: true, isClosed: true, voidBeforeSeq: null }
  return roster.map(({ deviceId, userId }) => ({ kind: "device", deviceId, userId, notice, welcomeId: null }))
}
