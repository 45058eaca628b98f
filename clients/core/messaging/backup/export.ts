import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { type BackupChunkV1_Entry, BackupChunkV1Schema } from "@signet/proto/client/v1/backup"
import { type Argon2Parameters, usualArgon2, wrongArgon2Parameter } from "../../passphrase-key.ts"
import type { Context } from "../context.ts"
import { concat } from "../crypto/bytes.ts"
import type { Messenger } from "../messenger.ts"
import { contextOf } from "../opened-messengers.ts"
import { type BackupSecret, deriveKey } from "./chunks.ts"
import { collectComparisons, collectConversations, collectEntries } from "./collect.ts"
import { frameOf, magic } from "./frames.ts"
import { backupIdBytes, formatHeader, headerIn, ownerHashOf } from "./header.ts"
import { formatRecoveryKey, recoveryKeyBytes } from "./recovery-key.ts"

export interface ExportedBackup {
  /**
   * 14 groups of four characters. Show it to the user once, and do not store it: it opens the history in the file.
   */
  readonly recoveryKey: string
  /** The file. It can be read once, and reads the store as it is read. */
  readonly bytes: AsyncGenerator<Uint8Array, void>
}

/**
 * Writes a backup of this device's history under a new recovery key: timelines with the keys of their attachments, the
 * list of conversations, and the comparisons of other users' keys. It has no key of the device or of a group.
 */
export async function exportBackup(messenger: Messenger): Promise<ExportedBackup> {
  const recoveryKey = createRecoveryKey(messenger)
  return { recoveryKey, bytes: exportBackupUnder(messenger, { recoveryKey }) }
}

/** Creates a recovery key: 32 random bytes as text. */
export const createRecoveryKey = (messenger: Messenger): string =>
  formatRecoveryKey(contextOf(messenger).random.bytes(recoveryKeyBytes))

/** Writes a backup under a given secret. @throws RangeError as `exportBackupWithPassphrase` */
export function exportBackupUnder(
  messenger: Messenger,
  secret: BackupSecret,
  parameters: Partial<Argon2Parameters> = {},
): AsyncGenerator<Uint8Array, void> {
  if ("passphrase" in secret) return exportBackupWithPassphrase(messenger, secret.passphrase, parameters)
  return fileOf(sealedFrames(contextOf(messenger), secret))
}

/**
 * Writes a backup under a passphrase. A recovery key is safer: an attacker with the file tries passphrases without limit.
 *
 * @param parameters Of Argon2id. Default: 64 MiB, three passes, one lane. At least 19 MiB and two passes.
 * @throws RangeError for an empty passphrase, or parameters outside their limits
 */
export function exportBackupWithPassphrase(
  messenger: Messenger,
  passphrase: string,
  parameters: Partial<Argon2Parameters> = {},
): AsyncGenerator<Uint8Array, void> {
  const derivation = passphraseDerivation(passphrase, parameters)
  return fileOf(sealedFrames(contextOf(messenger), { passphrase }, { derivation }))
}

/** @throws RangeError for an empty passphrase, or parameters outside their limits */
export function passphraseDerivation(passphrase: string, parameters: Partial<Argon2Parameters>): Argon2Parameters {
  const derivation = { ...usualArgon2, ...parameters }
  const wrong = wrongArgon2Parameter(derivation)
  if (wrong !== undefined) throw new RangeError(`${wrong} is not within the limits of Argon2id's parameters`)
  if (passphrase === "") throw new RangeError("passphrase is empty")
  return derivation
}

type Content = NonNullable<MessageInitShape<typeof BackupChunkV1Schema>["content"]>

/** At this size a chunk is written. With one more entry it is far below the limit. */
export const fullBytes = 1_048_576
export const mostEntries = 1_000
export const mostUsers = 100

async function* fileOf(frames: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let start: Uint8Array = magic
  for await (const frame of frames) {
    yield concat(start, frameOf(frame))
    start = new Uint8Array()
  }
}

interface FrameOptions {
  /** Absent for a backup under a recovery key. */
  readonly derivation?: Argon2Parameters
  /** Default: random. */
  readonly backupId?: Uint8Array
  /** Of a backup at the service. Default: 0n, for a file. */
  readonly sequence?: bigint
}

/** Seals a backup: the header, then each chunk. It reads the store as it is read. */
export async function* sealedFrames(
  context: Context,
  secret: BackupSecret,
  { derivation, backupId = context.random.bytes(backupIdBytes), sequence = 0n }: FrameOptions = {},
): AsyncGenerator<Uint8Array, void> {
  const { random } = context
  const passphrase = derivation && { ...derivation, salt: random.bytes(16) }
  const key = await deriveKey({ backupId, passphrase }, secret)
  try {
    const frame = formatHeader({
      backupId,
      ownerHash: ownerHashOf(context.owner),
      keyCheck: key.check,
      sequence,
      passphrase: passphrase && { ...passphrase, memoryKib: passphrase.memoryKiB },
    })
    yield frame
    const chain = key.chunks(headerIn(frame))
    for await (const content of contentsOf(context)) {
      const plaintext = new Uint8Array(toBinary(BackupChunkV1Schema, create(BackupChunkV1Schema, { content })))
      const sealed = await chain.seal(plaintext)
      plaintext.fill(0)
      yield sealed
    }
  } finally {
    key.wipe()
  }
}

/** The contents of the chunks, in order. */
async function* contentsOf(context: Context): AsyncGenerator<Content> {
  const found = await collectConversations(context)
  const users = await collectComparisons(context)
  const summary = {
    createdAtMs: BigInt(context.clock.nowMs()),
    conversations: BigInt(found.length),
    entries: BigInt(found.reduce((sum, { entries }) => sum + entries, 0)),
    comparedUsers: BigInt(users.length),
  }
  yield { case: "summary", value: summary }
  for (const { conversation } of found) {
    let entries: BackupChunkV1_Entry[] = []
    let bytes = 0
    let isWritten = false
    for await (const { entry, size } of collectEntries(context, conversation.conversationId)) {
      entries.push(entry)
      bytes += size
      if (bytes < fullBytes && entries.length < mostEntries) continue
      yield { case: "history", value: { conversation, entries } }
      isWritten = true
      entries = []
      bytes = 0
    }
    if (!isWritten || entries.length > 0) yield { case: "history", value: { conversation, entries } }
  }
  for (let i = 0; i < users.length; i += mostUsers) {
    yield { case: "comparisons", value: { users: users.slice(i, i + mostUsers) } }
  }
  yield { case: "end", value: {} }
}
