import type { Trust } from "../deps.ts"
import type { OwnDevice } from "../device/device.ts"
import { MessagingError } from "../errors.ts"
import { type SnapshotPlace, sealSnapshot } from "../state/snapshot.ts"
import type { SealedRows } from "../store/sealed-rows.ts"
import type { MessagingStore, Op } from "../store/store.ts"
import { named, type RowWrite } from "./conversation-rows.ts"

type Needs = Pick<Trust, "owner"> & { readonly rows: SealedRows; readonly device: Pick<OwnDevice, "id"> }

/** The user, the device and the conversation that a snapshot is sealed for. @throws MessagingError DEVICE_ENDED */
export function snapshotPlaceOf({ owner, device }: Omit<Needs, "rows">, conversationId: string): SnapshotPlace {
  if (device.id === undefined) throw new MessagingError("DEVICE_ENDED", "not registered")
  const { appId, tenantId, userId } = owner
  return { appId, tenantId, userId, deviceId: device.id, conversationId }
}

/** Seals the writes before the transaction opens, because IndexedDB commits an idle transaction. */
export async function sealWrites(deps: Needs, conversationId: string, writes: readonly RowWrite[]): Promise<Op[]> {
  const ops: Op[] = []
  for (const write of writes) ops.push(await sealed(deps, conversationId, write))
  return ops
}

async function sealed(deps: Needs, conversationId: string, write: RowWrite): Promise<Op> {
  switch (write.is) {
    case "put":
      return deps.rows.putBytes(write.place, write.bytes)
    case "remove":
      return { op: "remove", ...write.row }
    case "snapshot": {
      const place = snapshotPlaceOf(deps, conversationId)
      const value = await sealSnapshot(deps.rows, place, write.snapshot)
      return { op: "put", ...named.state, value }
    }
  }
}

/**
 * Writes a transaction on top of one generation. All writes of a conversation use it.
 *
 * @param generation The generation that the caller has read.
 * @returns "lost" if another process has written since.
 * @throws MessagingError KEY_PACKAGE_REUSED
 */
export async function transact(
  store: MessagingStore,
  conversationId: string,
  generation: bigint,
  ops: readonly Op[],
): Promise<"committed" | "lost"> {
  const done = await store.transact(conversationId, generation, ops)
  if (done === "EXISTS") throw new MessagingError("KEY_PACKAGE_REUSED", "the key package was used before")
  return done === "GENERATION_MISMATCH" ? "lost" : "committed"
}
