import type { AttachmentId } from "@signet/kernel/ids"
import { missingParts } from "@signet/kernel/messaging/attachment"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import type { Attachments, BlobStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"

/** Smaller than a service's, and no multiple of a chunk: a file of a run has several, and chunks lie across them. */
const partSize = 50_000

/** The store of attachments, in memory. */
export function modelAttachments(): Attachments & { readonly all: ReadonlyMap<AttachmentId, AttachmentRecord> } {
  const all = new Map<AttachmentId, AttachmentRecord>()
  const change = (id: AttachmentId, next: (record: AttachmentRecord) => AttachmentRecord) => {
    const record = all.get(id)
    if (record !== undefined) all.set(id, next(record))
    return all.get(id)
  }
  return {
    all,
    async create(record) {
      const { ownerDeviceId, idempotencyKey } = record
      const found = [...all.values()].find(
        (one) => one.ownerDeviceId === ownerDeviceId && equalBytes(one.idempotencyKey, idempotencyKey),
      )
      if (found === undefined) all.set(record.id, { ...record, partSize })
      return found ?? { ...record, partSize }
    },
    find: async (id) => all.get(id),
    addPart: async (id, index) =>
      change(id, (record) =>
        record.status === "UPLOADING"
          ? { ...record, parts: [...new Set([...record.parts, index])].sort((a, b) => a - b) }
          : record,
      ),
    complete: async (id, expiresAtMs) =>
      change(id, (record) =>
        record.status === "UPLOADING" && missingParts(record).length === 0
          ? { ...record, status: "COMPLETE", expiresAtMs }
          : record,
      ),
    async delete(id) {
      change(id, (record) => ({ ...record, status: "DELETED" }))
    },
    due: async () => [],
    async forget(id) {
      all.delete(id)
    },
  }
}

/** Bytes by their name. @param put Hears what comes. */
export function modelBlobs(put: Set<(bytes: Uint8Array) => void>): BlobStore {
  const all = new Map<string, Uint8Array>()
  return {
    async put(key, bytes) {
      all.set(key, Uint8Array.from(bytes))
      for (const hear of put) hear(bytes)
    },
    get: async (key) => all.get(key),
    size: async (key) => all.get(key)?.length,
    async delete(key) {
      all.delete(key)
    },
    presign: async () => undefined,
  }
}
