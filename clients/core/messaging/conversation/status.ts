import {
  type ConversationRecord,
  type OutboxRecord,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import { MessagingError } from "../errors.ts"
import type { ConversationStatus } from "../events.ts"
import { type LocalGroup, type StoredConversation, withRecord } from "../state/stored-conversation.ts"

/** The permitted actions in one status. All but `isAway` and `queues` also need a group. */
interface Rules {
  /** The status that the app sees. */
  readonly shown: ConversationStatus
  /** Applies the log, unless a quarantine is stored. */
  readonly reads: boolean
  readonly sends: boolean
  readonly commits: boolean
  /** Waits to be added to the group. */
  readonly isAway: boolean
  /** Stores own messages until there is a group; "direct": in a direct conversation only. */
  readonly queues: boolean | "direct"
}

const idle = { reads: true, sends: false, commits: false, isAway: false, queues: false } as const

/** All rules about a status. */
const rules: Readonly<Record<Status, Rules | undefined>> = {
  [Status.STATUS_UNSPECIFIED]: undefined,
  [Status.CREATING]: { ...idle, shown: "creating", commits: true, queues: true },
  [Status.ACTIVE]: { ...idle, shown: "active", sends: true, commits: true },
  [Status.QUARANTINED]: { ...idle, shown: "quarantined", queues: "direct" },
  [Status.ROLLED_BACK]: { ...idle, shown: "rolledBack" },
  [Status.WAITING]: { ...idle, shown: "waiting", isAway: true, queues: true },
  [Status.LEAVING]: { ...idle, shown: "leaving" },
  [Status.REMOVED]: { ...idle, shown: "removed", reads: false },
  [Status.STRANDED]: { ...idle, shown: "stranded", isAway: true, queues: "direct" },
}

type Row = ConversationRecord | undefined

export const statusOf = (record: Row): ConversationStatus | undefined => record && rules[record.status]?.shown

/** True while the log is read. A device may read where it may not send; a commit that fails its checks ends reading. */
export const isReading = (record: Row): boolean =>
  record !== undefined && record.quarantine === undefined && rules[record.status]?.reads !== false

export const isAway = (record: Row): boolean => record !== undefined && rules[record.status]?.isAway === true

/**
 * True if a device that waits commits directives about others: the app requested its rejoin, and its group is intact. The
 * devices that it adds can then add it. Otherwise a group whose other members stay offline would be lost.
 */
export const commitsForOthers = (record: Row): boolean =>
  record?.commitsForOthers === true && isAway(record) && record.quarantine === undefined

/**
 * True if this device requests the rejoin without the app: after a rollback, after conflicting receipts of the service,
 * and after any quarantine of a direct conversation, which continues in a new group if no member adds this device.
 */
export const rejoinsByItself = (record: Row): boolean =>
  record?.status === Status.ROLLED_BACK ||
  (record?.status === Status.QUARANTINED && (record.isDirect || record.quarantine?.reason === "RECEIPT_TOLD_DIFFERS"))

/** True if own messages are queued until this device has a group. */
export function isQueueing(record: Row): boolean {
  const queues = record && rules[record.status]?.queues
  return queues === "direct" ? record?.isDirect === true : queues === true
}

/**
 * Marks the epoch of a restored store. A newer state has used its keys, and other members reject a second message under
 * one key.
 */
export const withUsedKeys = (state: StoredConversation): StoredConversation =>
  state.local === undefined ? state : withRecord(state, { usedEpoch: state.local.group.epoch })

/** True for a stored message of the marked epoch: it is encrypted again, and never sent as it is. */
export const hasUsedKey = (record: Row, { epoch }: Pick<OutboxRecord, "epoch">): boolean =>
  epoch > 0n && epoch === record?.usedEpoch

type Stored = Pick<StoredConversation, "record" | "local">

/** @throws MessagingError CONVERSATION_UNKNOWN, CONVERSATION_NOT_ACTIVE */
export function groupToRead({ record, local }: Stored): LocalGroup {
  if (record === undefined) throw unknownConversation()
  if (local !== undefined && isReading(record)) return local
  throw new MessagingError("CONVERSATION_NOT_ACTIVE", "this device cannot read the conversation now")
}

/** @throws MessagingError CONVERSATION_UNKNOWN, CONVERSATION_NOT_ACTIVE, STATE_ROLLBACK */
export const groupToSend = (stored: Stored): LocalGroup => groupTo("sends", stored)

/** @throws MessagingError CONVERSATION_UNKNOWN, CONVERSATION_NOT_ACTIVE, STATE_ROLLBACK */
export const groupToCommit = (stored: Stored): LocalGroup => groupTo("commits", stored)

/** The group for the commit of a directive. @throws as `groupToCommit` */
export const groupToCarryOut = (stored: Stored): LocalGroup =>
  stored.local !== undefined && commitsForOthers(stored.record) ? stored.local : groupToCommit(stored)

function groupTo(act: "sends" | "commits", { record, local }: Stored): LocalGroup {
  if (record === undefined) throw unknownConversation()
  if (record.status === Status.ROLLED_BACK) {
    throw new MessagingError("STATE_ROLLBACK", "the stored state is older than one that was used")
  }
  if (local !== undefined && rules[record.status]?.[act] === true) return local
  throw new MessagingError("CONVERSATION_NOT_ACTIVE", "this device cannot send to the conversation now")
}

export function unknownConversation(): MessagingError {
  return new MessagingError("CONVERSATION_UNKNOWN", "this device has no such conversation")
}
