import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { type IntentRecord, IntentRecordSchema } from "@signet/proto/client/v1/records"
import type { Ambient } from "../deps.ts"
import { idOf } from "../ids.ts"
import type { PendingChange } from "../state/pending-rows.ts"
import { deviceSpace } from "../store/store.ts"
import { nextId } from "./ordered-id.ts"

/** A requested change that is stored until it is committed or refused. */
export interface Intent {
  readonly id: string
  readonly record: IntentRecord
}

export type IntentChange = NonNullable<MessageInitShape<typeof IntentRecordSchema>["change"]>

/**
 * The intent of a commit that carries out a directive. It has no row, because the service lists the directive until it
 * is done.
 */
export const directiveIntent = "directive"

export const newClaimId = ({ random }: Pick<Ambient, "random">): string => idOf("clm", random.bytes(16))

/** @param last The id of the conversation's newest intent: the new one sorts after it. */
export function newIntent(ambient: Ambient, change: IntentChange, last?: string): Intent {
  const record = create(IntentRecordSchema, {
    change,
    claimId: newClaimId(ambient),
    askedAtMs: BigInt(ambient.clock.nowMs()),
  })
  return { id: nextId(last, ambient.random), record }
}

export const putIntent = ({ id, record }: Intent): PendingChange => ({
  table: "intent",
  key: id,
  bytes: toBinary(IntentRecordSchema, record),
})

export const removeIntent = (id: string): PendingChange => ({ table: "intent", key: id })

/** The row of a creation that no conversation has begun yet. */
export const creationPlace = (key: string) => ({ space: deviceSpace, table: "creation", key }) as const
