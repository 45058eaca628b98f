// Backups in the service's store of archives. The service has the bytes of a file, and no key.
import { timestampMs } from "@bufbuild/protobuf/wkt"
import {
  type Archive,
  Archive_Kind as Kind,
  Archive_Status as Status,
} from "@signet/proto/messaging/v1/archive_service"
import type { Argon2Parameters } from "../../passphrase-key.ts"
import type { Context } from "../context.ts"
import { hex } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import { retrying } from "../history/retrying.ts"
import type { Messenger } from "../messenger.ts"
import { contextOf } from "../opened-messengers.ts"
import type { BackupSecret } from "./chunks.ts"
import { createRecoveryKey, passphraseDerivation, sealedFrames } from "./export.ts"
import { frameOf, magic } from "./frames.ts"
import { backupIdBytes, damaged, parseHeader } from "./header.ts"
import { nextSequence, rememberSequence } from "./newest-sequence.ts"

export interface StoredBackup {
  /** 32 hexadecimal digits. */
  readonly id: string
  /** Unix milliseconds, by the service. The date in the backup itself is what `readBackup` returns. */
  readonly storedAtMs: number
  /** In bytes. */
  readonly size: number
}

export interface StoreOptions {
  /** The recovery key of an earlier backup, as the user typed it. Default: a new one. */
  readonly recoveryKey?: string
  readonly signal?: AbortSignal
}

/**
 * Stores a backup at the service. When it is complete, it replaces the user's earlier one. An interrupted call leaves
 * the earlier one in place, and is repeated from the start. If only the last step was interrupted, this device refuses
 * the earlier one as outdated until then.
 *
 * @returns The recovery key: 14 groups of four characters. Show a new one to the user once, and do not store it.
 * @throws MessagingError BACKUP_KEY_INVALID
 */
export async function storeBackup(
  messenger: Messenger,
  { recoveryKey, signal }: StoreOptions = {},
): Promise<{ readonly recoveryKey: string }> {
  const secret = { recoveryKey: recoveryKey ?? createRecoveryKey(messenger) }
  await store(contextOf(messenger), secret, { signal })
  return secret
}

/**
 * Stores a backup under a passphrase at the service, as `storeBackup` does. A recovery key is safer: the service, and an
 * attacker who has read its store, try passphrases without limit.
 *
 * @param parameters Of Argon2id. Default: 64 MiB, three passes, one lane. At least 19 MiB and two passes.
 * @throws RangeError for an empty passphrase, or parameters outside their limits
 */
export async function storeBackupWithPassphrase(
  messenger: Messenger,
  passphrase: string,
  { signal, ...parameters }: Partial<Argon2Parameters> & Pick<StoreOptions, "signal"> = {},
): Promise<void> {
  const derivation = passphraseDerivation(passphrase, parameters)
  await store(contextOf(messenger), { passphrase }, { signal, derivation })
}

async function store(
  context: Context,
  secret: BackupSecret,
  { signal, derivation }: { readonly signal: AbortSignal | undefined; readonly derivation?: Argon2Parameters },
): Promise<void> {
  const { archives } = context.calls
  await dropUnfinished(context)
  const sequence = await nextSequence(context)
  const archiveId = context.random.bytes(backupIdBytes)
  const options = { backupId: archiveId, sequence, ...(derivation && { derivation }) }
  let index = -1
  for await (const data of sealedFrames(context, secret, options)) {
    const chunk = { archiveId, index, data }
    if (index < 0) {
      await retrying(context, signal, () => archives.createArchive({ archiveId, kind: Kind.BACKUP, header: data }))
    } else {
      await retrying(context, signal, () => archives.appendChunk(chunk))
    }
    index++
  }
  // Before the service learns that it is complete: afterwards this device accepts no older one.
  await rememberSequence(context, sequence)
  await retrying(context, signal, () => archives.completeArchive({ archiveId }))
}

/** Lists the complete backups of the user at the service, the newest first. */
export async function listStoredBackups(messenger: Messenger): Promise<readonly StoredBackup[]> {
  const found = await storedArchives(contextOf(messenger))
  return found.map(({ archiveId, createdAt, size }) => ({
    id: hex(archiveId),
    storedAtMs: createdAt === undefined ? 0 : timestampMs(createdAt),
    size: Number(size),
  }))
}

/**
 * Reads a backup from the service, for `readBackup` and `restoreBackup`. Each needs a reading of its own.
 *
 * @param id Default: the newest one.
 * @throws MessagingError BACKUP_UNKNOWN, when it is read; BACKUP_TAMPERED for a file that the service returns
 */
export async function* storedBackup(messenger: Messenger, id?: string): AsyncGenerator<Uint8Array, void> {
  const context = contextOf(messenger)
  const found = (await storedArchives(context)).find(({ archiveId }) => id === undefined || hex(archiveId) === id)
  if (found === undefined) throw new MessagingError("BACKUP_UNKNOWN", "the service stores no such backup")
  const { archiveId, header, chunkCount } = found
  // The bytes of a file have no sequence, so their age would not be checked.
  if (parseHeader(header, context.owner).sequence === 0n) throw damaged("it was not written for the service")
  yield magic
  yield frameOf(header)
  for (let index = 0; index < chunkCount; index++) {
    const { data } = await retrying(context, undefined, () => context.calls.archives.readChunk({ archiveId, index }))
    yield frameOf(data)
  }
}

/** Deletes a backup at the service. An unknown one is no error. */
export async function deleteStoredBackup(messenger: Messenger, id: string): Promise<void> {
  const context = contextOf(messenger)
  const { archives } = await retrying(context, undefined, () => context.calls.archives.listArchives({}))
  for (const { archiveId } of archives.filter((one) => hex(one.archiveId) === id)) {
    await retrying(context, undefined, () => context.calls.archives.deleteArchive({ archiveId }))
  }
}

async function storedArchives(context: Context): Promise<Archive[]> {
  const { archives } = await retrying(context, undefined, () => context.calls.archives.listArchives({}))
  const complete = archives.filter(({ kind, status }) => kind === Kind.BACKUP && status === Status.COMPLETE)
  return complete.toReversed()
}

/** Deletes what an interrupted call of this device has left. */
async function dropUnfinished(context: Context): Promise<void> {
  const { archives } = await retrying(context, undefined, () => context.calls.archives.listArchives({}))
  const own = archives.filter(
    ({ kind, writerDeviceId }) => kind === Kind.BACKUP && writerDeviceId === context.device.id,
  )
  for (const { archiveId } of own.filter(({ status }) => status === Status.WRITING)) {
    await retrying(context, undefined, () => context.calls.archives.deleteArchive({ archiveId }))
  }
}
