// As @signet/client/messaging/backup, for a remote messenger. Its recovery key is the only key that a core returns.
import { BackupService } from "@signet/proto/client/v1/backup_service"
import type {
  Argon2Parameters,
  BackupSecret,
  BackupSource,
  BackupSummary,
  ExportedBackup,
  RestoredBackup,
  StoredBackup,
  StoreOptions,
} from "../backup/index.ts"
import type { Messenger } from "../messenger.ts"
import { type Secret, secretTo, storedOf, summaryOf } from "./backup-messages.ts"
import { remoteOf, serviceOf } from "./opened-remotes.ts"
import { writtenBy } from "./written-by.ts"

const backupsOf = (messenger: Messenger) => serviceOf(messenger, BackupService)

export async function exportBackup(messenger: Messenger): Promise<ExportedBackup> {
  const { recoveryKey } = await backupsOf(messenger).createRecoveryKey({})
  return { recoveryKey, bytes: exported(messenger, secretTo({ recoveryKey })) }
}

export const exportBackupWithPassphrase = (
  messenger: Messenger,
  passphrase: string,
  parameters: Partial<Argon2Parameters> = {},
): AsyncGenerator<Uint8Array, void> => exported(messenger, secretTo({ passphrase }, parameters))

export async function readBackup(
  messenger: Messenger,
  source: BackupSource,
  secret: BackupSecret,
): Promise<BackupSummary> {
  return offered(messenger, source, async (path) => {
    const { summary } = await backupsOf(messenger).readBackup({ path, secret: secretTo(secret) })
    return summaryOf(summary)
  })
}

export async function restoreBackup(
  messenger: Messenger,
  source: BackupSource,
  secret: BackupSecret,
): Promise<RestoredBackup> {
  return offered(messenger, source, async (path) => {
    const request = { path, secret: secretTo(secret) }
    const { summary, importedEntries, changedUserIds } = await backupsOf(messenger).restoreBackup(request)
    return { ...summaryOf(summary), importedEntries: Number(importedEntries), changedUserIds }
  })
}

export async function storeBackup(
  messenger: Messenger,
  { recoveryKey, signal }: StoreOptions = {},
): Promise<{ readonly recoveryKey: string }> {
  const key = recoveryKey ?? (await backupsOf(messenger).createRecoveryKey({})).recoveryKey
  await stored(messenger, secretTo({ recoveryKey: key }), signal)
  return { recoveryKey: key }
}

export async function storeBackupWithPassphrase(
  messenger: Messenger,
  passphrase: string,
  { signal, ...parameters }: Partial<Argon2Parameters> & Pick<StoreOptions, "signal"> = {},
): Promise<void> {
  await stored(messenger, secretTo({ passphrase }, parameters), signal)
}

export async function listStoredBackups(messenger: Messenger): Promise<readonly StoredBackup[]> {
  const { backups } = await backupsOf(messenger).listStoredBackups({})
  return backups.map(storedOf)
}

export const storedBackup = (messenger: Messenger, id = ""): AsyncGenerator<Uint8Array, void> =>
  writtenBy(remoteOf(messenger).files, (path) => backupsOf(messenger).readStoredBackup({ id, path }))

export async function deleteStoredBackup(messenger: Messenger, id: string): Promise<void> {
  await backupsOf(messenger).deleteStoredBackup({ id })
}

const exported = (messenger: Messenger, secret: Secret): AsyncGenerator<Uint8Array, void> =>
  writtenBy(remoteOf(messenger).files, (path) => backupsOf(messenger).exportBackup({ path, secret }))

async function stored(messenger: Messenger, secret: Secret, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  const calls = backupsOf(messenger)
  // A closed core has ended the call.
  const stop = () => void calls.stopStoringBackup({}).catch(() => undefined)
  signal?.addEventListener("abort", stop, { once: true })
  try {
    await calls.storeBackup({ secret })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener("abort", stop)
  }
}

async function offered<T>(messenger: Messenger, source: BackupSource, work: (path: string) => Promise<T>): Promise<T> {
  const file = remoteOf(messenger).files.offerInOrder(source)
  try {
    return await work(file.path)
  } catch (error) {
    throw file.failure === undefined ? error : file.failure.error
  } finally {
    file.withdraw()
  }
}
