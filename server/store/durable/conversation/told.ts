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

export interface DeviceTold {
  readonly kind: "device"
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
  readonly notice: DeviceNotice
  readonly welcomeId: WelcomeId | null
}

export interface UserTold {
  readonly kind: "user"
  readonly userId: PrincipalId
  readonly notice: UserNotice
}

export interface PlaceTold {
  readonly kind: "place"
  readonly createdAtMs: number
}

export type Told = DeviceTold | UserTold | PlaceTold

/** Requires the transaction of the change. */
export function putTold(outbox: Outbox, all: readonly Told[]): void {
  for (const told of all) outbox.add({ lane: laneOf(told), kind: told.kind, body: told })
}

/** The outbox lane of a notice, within which the order is kept. */
export function laneOf(told: Told): string {
  switch (told.kind) {
    case "device":
      return `device/${told.deviceId}`
    case "user":
      return `user/${told.userId}`
    case "place":
      return "place"
  }
}

/** True for an entry that `putTold` added. */
export const isTold = (entry: Entry): entry is Entry & { readonly body: Told } =>
  ["device", "user", "place"].includes(entry.kind)

/** A new conversation: its users see it from now on. */
export function createdTold({ id, createdAtMs, userIds }: Conversation): readonly Told[] {
  const notice: UserNotice = { conversationId: id, createdAtMs, revision: 1, isMember: false, isAsked: true }
  const users = [...new Set(userIds)].map((userId): Told => ({ kind: "user", userId, notice }))
  return [{ kind: "place", createdAtMs }, ...users]
}

/** A commit: the added and removed devices, and the users who gained their first leaf or lost their last. */
export function committedTold(
  before: Conversation,
  after: Conversation,
  of: {
    readonly revision: number
    readonly added: readonly Leaf[]
    readonly gone: readonly Leaf[]
    readonly welcomes: readonly SplitWelcome[]
  },
): readonly Told[] {
  const facts = { conversationId: after.id, createdAtMs: after.createdAtMs, revision: of.revision }
  const isIn = new Set(after.roster.map(({ deviceId }) => deviceId))
  const isGone = new Set(of.gone.map(({ deviceId }) => deviceId))
  const welcomes = new Map(of.welcomes.map(({ id, deviceId }) => [deviceId, id]))
  const moved = new Map([...of.gone, ...of.added].map((leaf) => [leaf.deviceId, leaf]))
  const devices = [...moved.values()].map(({ deviceId, userId }): Told => {
    const voidBeforeSeq = isGone.has(deviceId) ? after.headSeq : null
    const notice = { ...facts, isMember: isIn.has(deviceId), isClosed: after.status === "CLOSED", voidBeforeSeq }
    return { kind: "device", deviceId, userId, notice, welcomeId: welcomes.get(deviceId) ?? null }
  })
  const was = new Set(before.roster.map(({ userId }) => userId))
  const is = new Set(after.roster.map(({ userId }) => userId))
  const asked = before.epoch === 0n ? before.userIds : []
  const came = [...is].filter((id) => !was.has(id))
  const went = [...was].filter((id) => !is.has(id))
  const users = [...new Set([...came, ...went, ...asked])].map((userId): Told => {
    return { kind: "user", userId, notice: { ...facts, isMember: is.has(userId), isAsked: false } }
  })
  return [...devices, ...users]
}

/** A closed conversation: its devices need no removal from it. */
export function closedTold({ id, createdAtMs, roster }: Conversation, revision: number): readonly Told[] {
  const facts = { conversationId: id, createdAtMs, revision }
  const notice: DeviceNotice = { ...facts, isMember: true, isClosed: true, voidBeforeSeq: null }
  return roster.map(({ deviceId, userId }) => ({ kind: "device", deviceId, userId, notice, welcomeId: null }))
}
