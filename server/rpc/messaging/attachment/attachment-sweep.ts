// Erases deleted and expired attachments: first the bytes, then the record. A sweep that stops in between is repeated
// by the next one.
import { blobKey, partIndexes } from "@signet/kernel/messaging/attachment"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { MessagingDeps } from "../deps.ts"

const atOnce = 100

/**
 * Erases what is due. Expired attachments stay for the life of a presigned URL, which is longer than any call, so no
 * put or completion follows the sweep.
 *
 * @throws AggregateError with the blob store's errors; attachments without an error are erased.
 */
export async function sweepAttachments({
  store,
  blobs,
  clock,
}: Pick<MessagingDeps, "store" | "blobs" | "clock">): Promise<void> {
  const due = await store.attachments.due(clock.nowMs() - lifetimeMs.presigned, atOnce)
  const faults: unknown[] = []
  for (const record of due) {
    try {
      for (const index of partIndexes(record)) await blobs.delete(blobKey(record, index))
      await store.attachments.forget(record.id)
    } catch (fault) {
      faults.push(fault)
    }
  }
  if (faults.length > 0) throw new AggregateError(faults, "attachments were not erased")
}
