// What is deleted or past its time goes: first its bytes, then that it was there. Whoever stops in between is followed
// by another who begins again.
import { blobKey, partIndexes } from "@signet/kernel/messaging/attachment"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { MessagingDeps } from "../deps.ts"

const atOnce = 100

/**
 * Expired attachments are kept for as long as an address that was handed out is good, which is longer than any call
 * lasts: nothing is put, or completed, behind the sweep.
 *
 * @throws AggregateError of what the blob store threw for those that did not go; the others are gone.
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
