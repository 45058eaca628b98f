import { create } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { HistoryTransferRecord_ReceivingSchema } from "@signet/proto/client/v1/history"
import {
  type Archive,
  Archive_Kind as Kind,
  Archive_Status as Status,
} from "@signet/proto/messaging/v1/archive_service"
import { keyOf as chunkKeyOf } from "../backup/chunks.ts"
import { importComparison } from "../backup/import-comparisons.ts"
import { importHistory } from "../backup/import-history.ts"
import { decodeChunk } from "../backup/open.ts"
import type { Context } from "../context.ts"
import { makeHpke } from "../crypto/hpke.ts"
import { isMessagingError, MessagingError } from "../errors.ts"
import { joinAll } from "../joining/welcomes.ts"
import { ownKeys } from "./own-keys.ts"
import { retrying } from "./retrying.ts"
import { changeTransfer, dropTransfer, keyOfTransfer, putTransfer, readTransfer, type StoredTransfer } from "./rows.ts"
import { transferIdOf } from "./send.ts"
import { openGrant, signRequest } from "./signed.ts"

/** Requests the history: stores the one-use key, then sends the signed request. @returns The id of the transfer. */
export async function requestTransfer(context: Context, secret: Uint8Array | undefined): Promise<string> {
  const transferId = context.random.bytes(16)
  const id = keyOfTransfer(transferId)
  const { privateKey, publicKey } = await makeHpke(context.suite).deriveKeyPair(context.random.bytes(32))
  const request = await signRequest(context, { transferId, hpkeKey: publicKey, secret })
  const receiving = { request, hpkePrivateKey: privateKey, secret: secret ?? new Uint8Array() }
  const value = create(HistoryTransferRecord_ReceivingSchema, receiving)
  await putTransfer(context, id, { side: { case: "receiving", value } })
  const { archives } = context.calls
  const asked = { archiveId: transferId, kind: Kind.TRANSFER, header: request }
  await retrying(context, undefined, () => archives.createArchive(asked))
  return id
}

/**
 * Imports the next chunk of a transfer, in one transaction, and only where this device has nothing.
 *
 * @returns "waiting" if the next chunk is not at the service yet; "done" after the last one.
 * @throws MessagingError HISTORY_REFUSED for a grant, HISTORY_TAMPERED for a chunk that does not verify
 */
export async function receiveNext(
  context: Context,
  id: string,
  archive: Archive | undefined,
  signal?: AbortSignal,
): Promise<"imported" | "waiting" | "done"> {
  const stored = await readTransfer(context, id)
  if (stored?.record.side.case !== "receiving") return "done"
  const { record } = stored
  if (archive === undefined) {
    await dropTransfer(context, id)
    throw new MessagingError("HISTORY_ENDED", "the request has expired or was deleted: request the history again")
  }
  if (record.key.length === 0) return acceptGrant(context, stored, archive)
  if (record.next >= BigInt(archive.chunkCount)) {
    if (archive.status === Status.COMPLETE) throw tampered("it ends before its last chunk")
    return "waiting"
  }
  const { archives } = context.calls
  const index = Number(record.next)
  const { data } = await retrying(context, signal, () => archives.readChunk({ archiveId: archive.archiveId, index }))
  return importChunk(context, stored, new Uint8Array(data))
}

async function acceptGrant(
  context: Context,
  stored: StoredTransfer,
  { grant }: Archive,
): Promise<"imported" | "waiting"> {
  const { id, record } = stored
  if (record.side.case !== "receiving" || grant.length === 0) return "waiting"
  const { request, hpkePrivateKey, secret, fromDeviceId } = record.side.value
  // The user has not compared the digits yet.
  if (secret.length === 0 && fromDeviceId === "") return "waiting"
  const open = {
    ...{ transferId: transferIdOf(id), request, hpkePrivateKey },
    secret: secret.length === 0 ? undefined : secret,
    fromDeviceId: fromDeviceId || undefined,
  }
  const key = await openGrant(context, await ownKeys(context), open, grant)
  // The one-use key and the secret end here.
  const value = create(HistoryTransferRecord_ReceivingSchema, { request, fromDeviceId })
  await changeTransfer(context, stored, { side: { case: "receiving", value }, key, grantHash: sha256(grant) })
  hpkePrivateKey.fill(0)
  return "imported"
}

async function importChunk(
  context: Context,
  stored: StoredTransfer,
  sealed: Uint8Array<ArrayBuffer>,
): Promise<"imported" | "done"> {
  const { id, record } = stored
  if (record.side.case !== "receiving") return "done"
  const receiving = record.side.value
  const content = await opened(context, stored, sealed)
  let { createdAtMs } = receiving
  if (content.case === "summary" ? record.next !== 0n : createdAtMs === 0n)
    throw tampered("its first chunk is no summary")
  switch (content.case) {
    case "summary":
      createdAtMs = content.value.createdAtMs
      if (createdAtMs === 0n) throw tampered("its summary has no date")
      break
    case "history": {
      const { conversation } = content.value
      // A welcome that waits here is older than the position of the imported history, which would refuse it.
      if (conversation !== undefined && !(await context.has(conversation.conversationId))) await joinAll(context)
      const imported = await asTransfer(() => importHistory(context, content.value, createdAtMs))
      if (imported > 0) context.emit({ is: "lagged" })
      break
    }
    case "comparisons":
      for (const user of content.value.users) await asTransfer(() => importComparison(context, user))
      break
    case "end":
      await dropTransfer(context, id)
      await retrying(context, undefined, () => context.calls.archives.deleteArchive({ archiveId: transferIdOf(id) }))
      return "done"
    case undefined:
      throw tampered("a chunk has no content")
  }
  const side = { case: "receiving", value: { ...receiving, createdAtMs } } as const
  await changeTransfer(context, stored, { side, next: record.next + 1n, previousHash: sha256(sealed) })
  return "imported"
}

async function opened(context: Context, { id, record }: StoredTransfer, sealed: Uint8Array<ArrayBuffer>) {
  const key = chunkKeyOf(record.key.slice(), transferIdOf(id))
  const chain = key.salted(record.grantHash, { sequence: record.next, previous: record.previousHash }, context.random)
  try {
    return await asTransfer(async () => decodeChunk(await chain.open(sealed)).content)
  } finally {
    key.wipe()
  }
}

/** Reports a chunk that does not verify as one of a transfer. */
async function asTransfer<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isMessagingError(error, "BACKUP_TAMPERED")) throw error
    throw tampered(error.message, error)
  }
}

const tampered = (rule: string, cause?: unknown): MessagingError =>
  new MessagingError("HISTORY_TAMPERED", `the transferred history was changed or damaged: ${rule}`, { cause })
