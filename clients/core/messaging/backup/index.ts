// @signet/client/messaging/backup: an encrypted backup of a messenger's history. Separate, so that a page that has none
// does not load it.

export type { Argon2Parameters } from "../../passphrase-key.ts"
export type { BackupSecret } from "./chunks.ts"
export { type ExportedBackup, exportBackup, exportBackupWithPassphrase } from "./export.ts"
export type { BackupSource } from "./pieces.ts"
export { type BackupSummary, type RestoredBackup, readBackup, restoreBackup } from "./restore.ts"
export {
  deleteStoredBackup,
  listStoredBackups,
  type StoredBackup,
  type StoreOptions,
  storeBackup,
  storeBackupWithPassphrase,
  storedBackup,
} from "./stored.ts"
