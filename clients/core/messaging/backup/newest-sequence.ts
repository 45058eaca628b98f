// Recognizes a stored backup that is older than one that this device knows.
import { StoredBackupRecordSchema } from "@signet/proto/client/v1/backup"
import type { Context } from "../context.ts"
import { writeDeviceRows } from "../device/device-rows.ts"
import { MessagingError } from "../errors.ts"
import { deviceSpace } from "../store/store.ts"

const place = { space: deviceSpace, table: "history", key: "backup:newest" } as const

/** The highest sequence number of a stored backup that this device wrote or restored; 0n for none. */
export async function newestSequence({ store, rows }: Pick<Context, "store" | "rows">): Promise<bigint> {
  const [sealed] = (await store.read(deviceSpace, [place])).values
  return sealed === undefined ? 0n : (await rows.read(place, StoredBackupRecordSchema, sealed)).sequence
}

/** The time, so that the backup of another device is followed, too. It rises if the clock was set back. */
export async function nextSequence(context: Context): Promise<bigint> {
  const [now, newest] = [BigInt(context.clock.nowMs()), await newestSequence(context)]
  return now > newest ? now : newest + 1n
}

export async function rememberSequence(context: Context, sequence: bigint): Promise<void> {
  if (sequence <= (await newestSequence(context))) return
  await writeDeviceRows(context, [await context.rows.put(place, StoredBackupRecordSchema, { sequence })])
}

/**
 * Refuses a stored backup that is older than the newest one that this device wrote or restored. A file has no sequence.
 *
 * @throws MessagingError BACKUP_OUTDATED
 */
export async function ensureNotOutdated(context: Context, sequence: bigint): Promise<void> {
  if (sequence === 0n || sequence >= (await newestSequence(context))) return
  throw new MessagingError("BACKUP_OUTDATED", "this device has stored or restored a newer backup")
}
