// What waits to be done in a conversation: its outbox and its intents. A row of them that is put back after it was done
// would be done twice, and one that is taken away never, so the conversation's record names all of them, each with the
// generation that it was written in and is sealed for.
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

/** A row as it is to be, not sealed; or one that is done. */
export interface PendingChange {
  readonly table: PendingTable
  readonly key: string
  /** Absent for one that is done: then it goes. */
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
 * The rows that a record names, in the order that they were written in.
 *
 * @param record as it is stored: inside a change, what is stored.
 * @throws MessagingError STATE_TAMPERED, SecretBoxError STATE_TAMPERED for one that is gone or of another moment.
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
      if (sealed === undefined) throw new MessagingError("STATE_TAMPERED", "something that waits to be done is gone")
      return { id: key, record: await rows.read({ space, table, key, generation }, schema, sealed) }
    }),
  )
}

/** What is due after some changes, and their writes. */
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

/** What is due where nothing was bound yet: all that is there. */
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
