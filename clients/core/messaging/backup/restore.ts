import type { Messenger } from "../messenger.ts"
import { contextOf } from "../opened-messengers.ts"
import type { BackupSecret } from "./chunks.ts"
import { damaged } from "./header.ts"
import { importComparison } from "./import-comparisons.ts"
import { importHistory } from "./import-history.ts"
import { ensureNotOutdated, rememberSequence } from "./newest-sequence.ts"
import { openBackup } from "./open.ts"
import type { BackupSource } from "./pieces.ts"

/** The contents of a backup, for the app to show before it restores them. */
export interface BackupSummary {
  /** Unix milliseconds. */
  readonly createdAtMs: number
  readonly conversations: number
  /** The number of timeline entries. */
  readonly entries: number
  /** The number of users whose keys were compared. */
  readonly comparedUsers: number
}

export interface RestoredBackup extends BackupSummary {
  /** The number of entries that this device did not have. */
  readonly importedEntries: number
  /** `prn_…` of users whose keys are not those that were compared: ask the user to compare them again. */
  readonly changedUserIds: readonly string[]
}

/**
 * Reads the summary of a backup, and changes nothing. An older backup than the user's newest cannot be recognized
 * without it: show the date.
 *
 * @throws MessagingError BACKUP_KEY_INVALID, BACKUP_KEY_WRONG, BACKUP_TAMPERED, BACKUP_INCOMPLETE,
 *   BACKUP_PARAMETERS_REFUSED, WRONG_USER, STATE_NEWER_VERSION; BACKUP_OUTDATED for a stored backup that is older than
 *   one that this device wrote or restored
 */
export async function readBackup(
  messenger: Messenger,
  source: BackupSource,
  secret: BackupSecret,
): Promise<BackupSummary> {
  const context = contextOf(messenger)
  const { summary, sequence, contents } = await openBackup(context.owner, source, secret)
  await contents.return()
  await ensureNotOutdated(context, sequence)
  return shownSummary(summary)
}

/**
 * Imports a backup into this device, chunk by chunk. Each chunk is imported as a whole or not at all, and only where
 * this device has nothing: a restore that was interrupted is repeated from the start. Conversations appear at once, and
 * wait until a member adds this device.
 *
 * @throws MessagingError as `readBackup`. Verified chunks before the failure stay imported.
 * @throws Failure, ConnectError if the service cannot be asked whether the compared keys are today's.
 */
export async function restoreBackup(
  messenger: Messenger,
  source: BackupSource,
  secret: BackupSecret,
): Promise<RestoredBackup> {
  const context = contextOf(messenger)
  const { summary, sequence, contents } = await openBackup(context.owner, source, secret)
  const changedUserIds: string[] = []
  let importedEntries = 0
  try {
    await ensureNotOutdated(context, sequence).catch(async (error: unknown) => {
      await contents.return()
      throw error
    })
    // The loop closes the source, also after a failure.
    for await (const content of contents) {
      switch (content.case) {
        case "history":
          importedEntries += await importHistory(context, content.value, summary.createdAtMs)
          break
        case "comparisons":
          for (const user of content.value.users) {
            if (await importComparison(context, user)) changedUserIds.push(user.userId)
          }
          break
        default:
          throw damaged("a chunk is not in its place")
      }
    }
    await rememberSequence(context, sequence)
  } finally {
    // Open views read their timelines again.
    if (importedEntries > 0) context.emit({ is: "lagged" })
  }
  return { ...shownSummary(summary), importedEntries, changedUserIds }
}

function shownSummary(summary: {
  readonly createdAtMs: bigint
  readonly conversations: bigint
  readonly entries: bigint
  readonly comparedUsers: bigint
}): BackupSummary {
  return {
    createdAtMs: Number(summary.createdAtMs),
    conversations: Number(summary.conversations),
    entries: Number(summary.entries),
    comparedUsers: Number(summary.comparedUsers),
  }
}
