import { create, type MessageInitShape } from "@bufbuild/protobuf"
import {
  type HistoryPlanRecord,
  HistoryPlanRecordSchema,
  type HistoryTransferRecord,
  HistoryTransferRecordSchema,
} from "@signet/proto/client/v1/history"
import { hex } from "../crypto/bytes.ts"
import type { Storage } from "../deps.ts"
import { writeDeviceRows } from "../device/device-rows.ts"
import { deviceSpace } from "../store/store.ts"

const placeOf = (key: string) => ({ space: deviceSpace, table: "history", key }) as const
const planOf = (key: string): string => `${key}:plan`

/** The key of a transfer's rows. */
export const keyOfTransfer = (transferId: Uint8Array): string => hex(transferId)

/** A transfer of this device, as it was read. */
export interface StoredTransfer {
  /** 32 hexadecimal digits. */
  readonly id: string
  readonly record: HistoryTransferRecord
  /** Of the device's space when the record was read. */
  readonly generation: bigint
}

/** The ids of this device's transfers. */
export async function transferIds({ store }: Pick<Storage, "store">): Promise<string[]> {
  return (await store.list(deviceSpace, "history")).map(({ key }) => key).filter((key) => !key.includes(":"))
}

export async function readTransfer({ store, rows }: Storage, id: string): Promise<StoredTransfer | undefined> {
  const { generation, values } = await store.read(deviceSpace, [placeOf(id)])
  const [sealed] = values
  return sealed && { id, generation, record: await rows.read(placeOf(id), HistoryTransferRecordSchema, sealed) }
}

export async function readPlan({ store, rows }: Storage, id: string): Promise<HistoryPlanRecord> {
  const place = placeOf(planOf(id))
  const [sealed] = (await store.read(deviceSpace, [place])).values
  return sealed === undefined ? create(HistoryPlanRecordSchema) : rows.read(place, HistoryPlanRecordSchema, sealed)
}

type TransferFields = Omit<MessageInitShape<typeof HistoryTransferRecordSchema>, "$typeName">

/** Stores the receiving side of a transfer. */
export async function putTransfer(storage: Storage, id: string, record: TransferFields): Promise<void> {
  await writeDeviceRows(storage, [await storage.rows.put(placeOf(id), HistoryTransferRecordSchema, record)])
}

/** Stores the sending side of a new transfer. @returns False if the store was written since the generation was read. */
export async function addTransfer(
  { store, rows }: Storage,
  { id, generation }: Pick<StoredTransfer, "id" | "generation">,
  record: TransferFields,
  plan: MessageInitShape<typeof HistoryPlanRecordSchema>,
): Promise<boolean> {
  const ops = [
    await rows.put(placeOf(id), HistoryTransferRecordSchema, record),
    await rows.put(placeOf(planOf(id)), HistoryPlanRecordSchema, plan),
  ]
  return (await store.transact(deviceSpace, generation, ops)) === "ok"
}

/** Of the device's space, for `addTransfer`. */
export const generationNow = async ({ store }: Pick<Storage, "store">): Promise<bigint> =>
  (await store.read(deviceSpace, [])).generation

/**
 * Replaces fields of a transfer. If the store was written since the record was read, such as by another tab, nothing
 * changes: read it again.
 */
export async function changeTransfer(
  { store, rows }: Storage,
  { id, record, generation }: StoredTransfer,
  changes: TransferFields,
): Promise<void> {
  const { $typeName: _, ...before } = record
  const op = await rows.put(placeOf(id), HistoryTransferRecordSchema, { ...before, ...changes })
  await store.transact(deviceSpace, generation, [op])
}

/** Forgets a transfer with its keys. */
export async function dropTransfer(storage: Storage, id: string): Promise<void> {
  await writeDeviceRows(storage, [
    { op: "remove", table: "history", key: id },
    { op: "remove", table: "history", key: planOf(id) },
  ])
}
