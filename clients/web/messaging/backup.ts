// @signet/client-web/messaging/backup: encrypted backups in a browser. The core of the messenger is loaded on demand.

import type { Messenger } from "@signet/client/messaging"
import type * as portable from "@signet/client/messaging/backup"
import { isRemote } from "../../core/messaging/remote/opened-remotes.ts"

export type {
  Argon2Parameters,
  BackupSecret,
  BackupSource,
  BackupSummary,
  ExportedBackup,
  RestoredBackup,
  StoredBackup,
  StoreOptions,
} from "@signet/client/messaging/backup"

/** The functions for the core that a messenger runs in. */
const backupsOf = (messenger: Messenger): Promise<typeof portable> =>
  isRemote(messenger) ? import("../../core/messaging/remote/backup.ts") : import("@signet/client/messaging/backup")

export const exportBackup: typeof portable.exportBackup = async (messenger) =>
  (await backupsOf(messenger)).exportBackup(messenger)

/** A wrong passphrase or parameter is thrown when the backup is read. */
export const exportBackupWithPassphrase: typeof portable.exportBackupWithPassphrase = async function* (...given) {
  yield* (await backupsOf(given[0])).exportBackupWithPassphrase(...given)
}

export const readBackup: typeof portable.readBackup = async (...given) =>
  (await backupsOf(given[0])).readBackup(...given)

export const restoreBackup: typeof portable.restoreBackup = async (...given) =>
  (await backupsOf(given[0])).restoreBackup(...given)

export const storeBackup: typeof portable.storeBackup = async (...given) =>
  (await backupsOf(given[0])).storeBackup(...given)

export const storeBackupWithPassphrase: typeof portable.storeBackupWithPassphrase = async (...given) =>
  (await backupsOf(given[0])).storeBackupWithPassphrase(...given)

export const listStoredBackups: typeof portable.listStoredBackups = async (messenger) =>
  (await backupsOf(messenger)).listStoredBackups(messenger)

export const storedBackup: typeof portable.storedBackup = async function* (...given) {
  yield* (await backupsOf(given[0])).storedBackup(...given)
}

export const deleteStoredBackup: typeof portable.deleteStoredBackup = async (...given) =>
  (await backupsOf(given[0])).deleteStoredBackup(...given)
