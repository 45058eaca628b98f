// As @signet/client/messaging/backup, for a remote messenger. Its recovery key is the only key that a core returns.
import type { MessageInitShape } from "@bufbuild/protobuf"
import {
  type BackupSecretSchema,
  BackupService,
  type BackupSummary as SummaryMessage,
} from "@signet/proto/client/v1/backup_service"
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
import { answerRefused } from "./from-messages.ts"
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
  return backups.map(({ id, storedAtMs, size }) => ({ id, storedAtMs: Number(storedAtMs), size: Number(size) }))
}

export const storedBackup = (messenger: Messenger, id = ""): AsyncGenerator<Uint8Array, void> =>
  writtenBy(remoteOf(messenger).files, (path) => backupsOf(messenger).readStoredBackup({ id, path }))

export async function deleteStoredBackup(messenger: Messenger, id: string): Promise<void> {
  await backupsOf(messenger).deleteStoredBackup({ id })
}

type Secret = MessageInitShape<typeof BackupSecretSchema>

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

function secretTo(secret: BackupSecret, parameters: Partial<Argon2Parameters> = {}): Secret {
  if ("recoveryKey" in secret) return { secret: { case: "recoveryKey", value: secret.recoveryKey } }
  const { memoryKiB: memoryKib, passes, lanes } = parameters
  for (const [name, value] of Object.entries(parameters)) {
    // Zero stands for the default in the contract.
    if (value === 0) throw new RangeError(`${name} is not within the limits of Argon2id's parameters`)
  }
  const value = {
    passphrase: secret.passphrase,
    ...(memoryKib !== undefined && { memoryKib }),
    ...(passes !== undefined && { passes }),
    ...(lanes !== undefined && { lanes }),
  }
  return { secret: { case: "passphrase", value } }
}

function summaryOf(message: SummaryMessage | undefined): BackupSummary {
  if (message === undefined) throw answerRefused()
  const { createdAtMs, conversations, entries, comparedUsers } = message
  return {
    createdAtMs: Number(createdAtMs),
    conversations: Number(conversations),
    entries: Number(entries),
    comparedUsers: Number(comparedUsers),
  }
}
