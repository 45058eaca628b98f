import { equalBytes } from "@signet/canonical/bytes"
import { type OutboxRecord, OutboxRecordSchema } from "@signet/proto/client/v1/records"
import type { Context } from "../context.ts"
import type { Op, Space } from "../store/store.ts"

/** An own message on its way. */
export interface Waiting {
  /** Ascends in the order of writing. */
  readonly id: string
  readonly record: OutboxRecord
}

type Needs = Pick<Context, "store" | "rows">

/** Own messages that the log has not brought back yet, in the order that they were written in. */
export async function waitingIn({ store, rows }: Needs, space: Space): Promise<Waiting[]> {
  const found = await store.list(space, "outbox")
  return Promise.all(
    found.map(async ({ key, value }) => ({
      id: key,
      record: await rows.read({ space, table: "outbox", key }, OutboxRecordSchema, value),
    })),
  )
}

export const putWaiting = ({ rows }: Needs, space: Space, { id, record }: Waiting): Promise<Op> =>
  rows.put({ space, table: "outbox", key: id }, OutboxRecordSchema, record)

export const removeWaiting = (id: string): Op => ({ op: "remove", table: "outbox", key: id })

export const withHash = (waiting: readonly Waiting[], contentHash: Uint8Array): Waiting | undefined =>
  waiting.find(({ record }) => equalBytes(record.contentHash, contentHash))
