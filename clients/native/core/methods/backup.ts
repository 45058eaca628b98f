// BackupService over the messenger of the signed-in user.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  BackupPassphrase,
  BackupSecret as BackupSecretMessage,
  BackupService,
  BackupSummarySchema,
} from "@signet/proto/client/v1/backup_service"
import { createRecoveryKey, exportBackupUnder } from "../../../core/messaging/backup/export.ts"
import {
  type Argon2Parameters,
  type BackupSecret,
  type BackupSummary,
  deleteStoredBackup,
  listStoredBackups,
  readBackup,
  restoreBackup,
  storeBackup,
  storeBackupWithPassphrase,
  storedBackup,
} from "../../../core/messaging/backup/index.ts"
import { ArgumentError } from "../failure.ts"
import { readInOrder, writeFile } from "../files.ts"
import type { Handlers } from "./handlers.ts"
import type { MessengerHolder } from "./messenger.ts"

export function backupHandlers(holder: MessengerHolder): Handlers<(typeof BackupService)["method"]> {
  return {
    createRecoveryKey: async () => ({ recoveryKey: createRecoveryKey(holder.messenger) }),
    async exportBackup({ path, secret }) {
      const bytes = exportBackupUnder(holder.messenger, secretOf(secret), parametersOf(secret))
      return { size: BigInt(await writeFile(path, 0, bytes)) }
    },
    readBackup: async ({ path, secret }) => ({
      summary: summaryTo(await readBackup(holder.messenger, readInOrder(path), secretOf(secret))),
    }),
    async restoreBackup({ path, secret }) {
      const restored = await restoreBackup(holder.messenger, readInOrder(path), secretOf(secret))
      return {
        summary: summaryTo(restored),
        importedEntries: BigInt(restored.importedEntries),
        changedUserIds: [...restored.changedUserIds],
      }
    },
    storeBackup: ({ secret }) =>
      holder.storing.run(async (signal) => {
        const given = secretOf(secret)
        if ("recoveryKey" in given) await storeBackup(holder.messenger, { recoveryKey: given.recoveryKey, signal })
        else await storeBackupWithPassphrase(holder.messenger, given.passphrase, { ...parametersOf(secret), signal })
        return {}
      }),
    async stopStoringBackup() {
      holder.storing.stop()
      return {}
    },
    async listStoredBackups() {
      const found = await listStoredBackups(holder.messenger)
      const backups = found.map(({ id, storedAtMs, size }) => ({
        ...{ id, storedAtMs: BigInt(storedAtMs), size: BigInt(size) },
      }))
      return { backups }
    },
    async readStoredBackup({ id, path }) {
      const bytes = storedBackup(holder.messenger, id || undefined)
      return { size: BigInt(await writeFile(path, 0, bytes)) }
    },
    async deleteStoredBackup({ id }) {
      await deleteStoredBackup(holder.messenger, id)
      return {}
    },
  }
}

function secretOf(message: BackupSecretMessage | undefined): BackupSecret {
  const { secret } = message ?? {}
  if (secret?.case === "recoveryKey") return { recoveryKey: secret.value }
  if (secret?.case === "passphrase") return { passphrase: secret.value.passphrase }
  throw new ArgumentError("secret must have exactly one of recovery_key and passphrase")
}

/** Zero stands for the default in the contract. */
function parametersOf(message: BackupSecretMessage | undefined): Partial<Argon2Parameters> {
  if (message?.secret.case !== "passphrase") return {}
  const { memoryKib, passes, lanes }: BackupPassphrase = message.secret.value
  return {
    ...(memoryKib > 0 && { memoryKiB: memoryKib }),
    ...(passes > 0 && { passes }),
    ...(lanes > 0 && { lanes }),
  }
}

const summaryTo = (summary: BackupSummary): MessageInitShape<typeof BackupSummarySchema> => ({
  createdAtMs: BigInt(summary.createdAtMs),
  conversations: BigInt(summary.conversations),
  entries: BigInt(summary.entries),
  comparedUsers: BigInt(summary.comparedUsers),
})
