// The pending rows of a conversation: its outbox and its intents. A restored row would run twice, and a deleted one
// never. So the conversation's record lists all of them, each with the generation of its write, for which it is sealed.
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import {
  type ConversationRecord,
  type ConversationRecord_Due,
  ConversationRecord_DueSchema,
} from "@signet/proto/client/v1/records"
import type { Storage } from "../deps.ts"
import type { RowWrite } from "../effects/conversation-rows.ts"
import { MessagingError } from "../errors.ts"
import type { Space } from "../store/store.ts"

export type PendingTable = "outbox" | "intent"
const tables: readonly PendingTable[] = ["intent", "outbox"]

/** A row to write, before sealing, or to remove. */
export interface PendingChange {
  readonly table: PendingTable
  readonly key: string
  /** Absent to remove the row. */
  readonly bytes?: Uint8Array
}

export interface PendingRow<Shape> {
  readonly id: string
  readonly record: Shape
}

type Needs = Storage

export const pendingIn = (record: ConversationRecord | undefined, table: PendingTable): ConversationRecord_Due[] =>
  record?.due.filter((one) => one.table === table) ?? []

/**
 * Reads the rows that a record lists, in the order of writing.
 *
 * @param record The stored record. Inside a change, the one that the change started from.
 * @throws MessagingError STATE_TAMPERED, SecretBoxError STATE_TAMPERED for a row that is missing or of another
 *   generation.
 */
export async function readPending<Desc extends DescMessage>(
  { store, rows }: Needs,
  space: Space,
  record: ConversationRecord | undefined,
  table: PendingTable,
  schema: Desc,
): Promise<PendingRow<MessageShape<Desc>>[]> {
  const due = pendingIn(record, table)
  if (due.length === 0) return []
  const { values } = await store.read(
    space,
    due.map(({ key }) => ({ table, key })),
  )
  return Promise.all(
    due.map(async ({ key, generation }, i) => {
      const sealed = values[i]
      if (sealed === undefined) throw new MessagingError("STATE_TAMPERED", "a pending row is missing")
      return { id: key, record: await rows.read({ space, table, key, generation }, schema, sealed) }
    }),
  )
}

/** Returns the list of pending rows after some changes, and the writes of those. */
export function changePending(
  { space, generation }: { readonly space: Space; readonly generation: bigint },
  before: readonly ConversationRecord_Due[],
  changes: readonly PendingChange[],
): { due: ConversationRecord_Due[]; writes: RowWrite[] } {
  const due = new Map(before.map((one) => [nameOf(one), one]))
  const writes = changes.map(({ table, key, bytes }): RowWrite => {
    if (bytes === undefined) {
      due.delete(nameOf({ table, key }))
      return { is: "remove", row: { table, key } }
    }
    due.set(nameOf({ table, key }), create(ConversationRecord_DueSchema, { table, key, generation }))
    return { is: "put", place: { space, table, key, generation }, bytes }
  })
  return { due: [...due.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)), writes }
}

const nameOf = ({ table, key }: { table: string; key: string }) => `${table} ${key}`

/** Lists the pending rows of an earlier version, which bound none: all stored ones. */
export async function unboundPending(
  { store }: Pick<Storage, "store">,
  space: Space,
): Promise<ConversationRecord_Due[]> {
  const found = await Promise.all(
    tables.map(async (table) =>
      (await store.list(space, table)).map(({ key }) => create(ConversationRecord_DueSchema, { table, key })),
    ),
  )
  return found.flat()
}
