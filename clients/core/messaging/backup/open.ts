import { fromBinary } from "@bufbuild/protobuf"
import {
  type BackupChunkV1,
  type BackupChunkV1_Summary,
  BackupChunkV1Schema,
  type BackupHeaderV1,
} from "@signet/proto/client/v1/backup"
import type { Owner } from "../session.ts"
import { type BackupKey, type BackupSecret, checkKey, deriveKey } from "./chunks.ts"
import { framesIn, incomplete } from "./frames.ts"
import { damaged, headerIn, parseHeader } from "./header.ts"
import type { BackupSource } from "./pieces.ts"

type BackupContent = Exclude<BackupChunkV1["content"], { case: undefined }>

/** A backup whose summary was read. */
interface OpenedBackup {
  readonly summary: BackupChunkV1_Summary
  /** Of the header, verified with the summary; 0n for a file. */
  readonly sequence: bigint
  /** The verified chunks after the summary, without the end. Throws at the first one that fails. */
  readonly contents: AsyncGenerator<BackupContent, void>
}

/**
 * Verifies the header, the key and the first chunk. The caller reads or returns `contents`, which closes the source.
 *
 * @throws MessagingError BACKUP_TAMPERED, BACKUP_INCOMPLETE, BACKUP_KEY_INVALID, BACKUP_KEY_WRONG,
 *   BACKUP_PARAMETERS_REFUSED, WRONG_USER, STATE_NEWER_VERSION
 */
export async function openBackup(owner: Owner, source: BackupSource, secret: BackupSecret): Promise<OpenedBackup> {
  let sequence = 0n
  const contents = readContents(owner, source, secret, (header) => {
    sequence = header.sequence
  })
  const first = await contents.next()
  if (first.done || first.value.case !== "summary") {
    await contents.return()
    throw damaged("its first chunk is no summary")
  }
  // Its entries carry this time, which marks them as imported.
  if (first.value.value.createdAtMs === 0n) throw damaged("its summary has no date")
  return { summary: first.value.value, sequence, contents }
}

async function* readContents(
  owner: Owner,
  source: BackupSource,
  secret: BackupSecret,
  onHeader: (header: BackupHeaderV1) => void,
): AsyncGenerator<BackupContent, void> {
  const frames = framesIn(source)
  let key: BackupKey | undefined
  let isOpen = true
  // QuickJS-ng never answers `return` of a generator that has failed.
  const read = async () => {
    isOpen = false
    const frame = await frames.next()
    isOpen = !frame.done
    return frame
  }
  try {
    const first = await read()
    if (first.done) throw incomplete()
    const header = parseHeader(first.value, owner)
    onHeader(header)
    const { backupId, passphrase } = header
    key = await deriveKey(
      { backupId, passphrase: passphrase && { ...passphrase, memoryKiB: passphrase.memoryKib } },
      secret,
    )
    checkKey(key, header.keyCheck)
    const chain = key.chunks(headerIn(first.value))
    for (let frame = await read(); !frame.done; frame = await read()) {
      const { content } = decodeChunk(await chain.open(frame.value))
      if (content.case === "end") {
        if (!(await read()).done) throw damaged("it has data after its last chunk")
        return
      }
      if (content.case === undefined) throw damaged("a chunk has no content")
      yield content
    }
    throw incomplete()
  } finally {
    key?.wipe()
    if (isOpen) await frames.return(undefined)
  }
}

/** @throws MessagingError BACKUP_TAMPERED */
export function decodeChunk(plaintext: Uint8Array): BackupChunkV1 {
  try {
    return fromBinary(BackupChunkV1Schema, plaintext)
  } catch (cause) {
    throw damaged("a chunk does not decode", cause)
  }
}
