import { toBinary } from "@bufbuild/protobuf"
import { equalBytes } from "@signet/canonical/bytes"
import { type OutboxRecord, OutboxRecordSchema } from "@signet/proto/client/v1/records"
import type { Conversation } from "../context.ts"
import type { Storage } from "../deps.ts"
import { type DueChange, readDue } from "../state/due.ts"
import type { Held } from "../state/held.ts"
import type { Space } from "../store/store.ts"

/** An own message on its way. */
export interface Waiting {
  /** Ascends in the order of writing. */
  readonly id: string
  readonly record: OutboxRecord
}

/** Own messages that the log has not brought back yet, in the order that they were written in. */
export const waitingIn = (conversation: Conversation): Promise<Waiting[]> =>
  conversation.due("outbox", OutboxRecordSchema)

/** The same inside a change. */
export const waitingHere = (context: Storage, space: Space, { record }: Held): Promise<Waiting[]> =>
  readDue(context, space, record, "outbox", OutboxRecordSchema)

export const putWaiting = ({ id, record }: Waiting): DueChange => ({
  table: "outbox",
  key: id,
  bytes: toBinary(OutboxRecordSchema, record),
})

export const removeWaiting = (id: string): DueChange => ({ table: "outbox", key: id })

export const withHash = (waiting: readonly Waiting[], contentHash: Uint8Array): Waiting | undefined =>
  waiting.find(({ record }) => equalBytes(record.contentHash, contentHash))
