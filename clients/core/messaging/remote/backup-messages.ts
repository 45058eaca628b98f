// The messages of BackupService, and the values of the client.
import type { MessageInitShape } from "@bufbuild/protobuf"
import type {
  BackupSecretSchema,
  StoredBackup as StoredMessage,
  BackupSummary as SummaryMessage,
} from "@signet/proto/client/v1/backup_service"
import type { Argon2Parameters, BackupSecret, BackupSummary, StoredBackup } from "../backup/index.ts"
import { answerRefused } from "./from-messages.ts"

export type Secret = MessageInitShape<typeof BackupSecretSchema>

export function secretTo(secret: BackupSecret, parameters: Partial<Argon2Parameters> = {}): Secret {
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

export function summaryOf(message: SummaryMessage | undefined): BackupSummary {
  if (message === undefined) throw answerRefused()
  const { createdAtMs, conversations, entries, comparedUsers } = message
  return {
    createdAtMs: Number(createdAtMs),
    conversations: Number(conversations),
    entries: Number(entries),
    comparedUsers: Number(comparedUsers),
  }
}

export const storedOf = ({ id, storedAtMs, size }: StoredMessage): StoredBackup => ({
  ...{ id, storedAtMs: Number(storedAtMs), size: Number(size) },
})
