// Encrypted backups over the native side, which reads and writes their files.
import type { BackupSecret, BackupSummary, RestoredBackup, StoredBackup } from "@signet/client/messaging/backup"
import { BackupService } from "@signet/proto/client/v1/backup_service"
import { secretTo, storedOf, summaryOf } from "../core/messaging/remote/backup-messages.ts"
import { callsOf, type RemoteCore } from "../core/messaging/remote/core.ts"
import { toClientError } from "./errors.ts"

/** Paths are absolute, and outside of the client's data folder. */
export interface Backups {
  /**
   * Returns a new recovery key: 14 groups of four characters. Show it to the user once, and do not store it.
   *
   * It opens every backup that is made with it, and is the only key that the native side returns.
   */
  createRecoveryKey(): Promise<string>
  /** Writes a backup into a new file. */
  exportTo(path: string, secret: BackupSecret): Promise<{ readonly size: number }>
  /** Reads the summary of a backup, and changes nothing. */
  read(path: string, secret: BackupSecret): Promise<BackupSummary>
  /** Imports what this device does not have. Repeat it after an interruption. */
  restore(path: string, secret: BackupSecret): Promise<RestoredBackup>
  /** Stores a backup at the service, in place of the user's earlier one. */
  store(secret: BackupSecret): Promise<void>
  /** Ends `store`, which fails then. The earlier backup stays. */
  stopStoring(): Promise<void>
  /** The complete backups of the user at the service, the newest first. */
  listStored(): Promise<readonly StoredBackup[]>
  /** Writes a backup of the service into a new file. @param id Default: the newest one. */
  saveStored(path: string, id?: string): Promise<{ readonly size: number }>
  deleteStored(id: string): Promise<void>
}

export function backupsOver(core: RemoteCore): Backups {
  const calls = callsOf(core, BackupService, toClientError)
  return {
    createRecoveryKey: async () => (await calls.createRecoveryKey({})).recoveryKey,
    exportTo: async (path, secret) => ({
      size: Number((await calls.exportBackup({ path, secret: secretTo(secret) })).size),
    }),
    read: async (path, secret) => summaryOf((await calls.readBackup({ path, secret: secretTo(secret) })).summary),
    async restore(path, secret) {
      const { summary, importedEntries, changedUserIds } = await calls.restoreBackup({ path, secret: secretTo(secret) })
      return { ...summaryOf(summary), importedEntries: Number(importedEntries), changedUserIds }
    },
    async store(secret) {
      await calls.storeBackup({ secret: secretTo(secret) })
    },
    async stopStoring() {
      await calls.stopStoringBackup({})
    },
    listStored: async () => (await calls.listStoredBackups({})).backups.map(storedOf),
    saveStored: async (path, id = "") => ({ size: Number((await calls.readStoredBackup({ id, path })).size) }),
    async deleteStored(id) {
      await calls.deleteStoredBackup({ id })
    },
  }
}
