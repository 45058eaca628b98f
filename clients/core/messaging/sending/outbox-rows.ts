import { toBinary } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { type OutboxRecord, OutboxRecordSchema } from "@signet/proto/client/v1/records"
import type { Conversation } from "../context.ts"
import type { Storage } from "../deps.ts"
import type { MessengerEvent } from "../events.ts"
import { type PendingChange, readPending } from "../state/pending-rows.ts"
import type { StoredConversation } from "../state/stored-conversation.ts"
import type { Space } from "../store/store.ts"

/** An own message that is not in the log yet. */
export interface OutboxItem {
  /** Ascends in the order of writing. */
  readonly id: string
  readonly record: OutboxRecord
}

/** Reads the own messages that this device has not seen in the log yet, in the order of writing. */
export const readOutbox = (conversation: Conversation): Promise<OutboxItem[]> =>
  conversation.pending("outbox", OutboxRecordSchema)

/** Does the same inside a change. */
export const outboxIn = (context: Storage, space: Space, { record }: StoredConversation): Promise<OutboxItem[]> =>
  readPending(context, space, record, "outbox", OutboxRecordSchema)

export const putOutboxItem = ({ id, record }: OutboxItem): PendingChange => ({
  table: "outbox",
  key: id,
  bytes: toBinary(OutboxRecordSchema, record),
})

export const removeOutboxItem = (id: string): PendingChange => ({ table: "outbox", key: id })

export const withHash = (waiting: readonly OutboxItem[], contentHash: Uint8Array): OutboxItem | undefined =>
  waiting.find(({ record }) => equalBytes(record.contentHash, contentHash))

/** Drops messages that are never sent, and reports each of them. */
export const dropAll = (
  conversationId: string,
  outboxIds: readonly string[],
  error: unknown,
): { readonly due: readonly PendingChange[]; readonly emit: readonly MessengerEvent[] } => ({
  due: outboxIds.map(removeOutboxItem),
  emit: outboxIds.map((outboxId) => ({ is: "unsent", conversationId, outboxId, error })),
})
