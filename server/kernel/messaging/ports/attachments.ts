// Store interfaces for attachments: their records and their bytes.
import type { AuditEvent } from "../../audit/event.ts"
import type { AttachmentId } from "../../ids.ts"
import type { AttachmentRecord } from "../records.ts"

export interface Attachments {
  /** Returns the device's attachment for this key; inserts it if there is none. */
  create(record: AttachmentRecord): Promise<AttachmentRecord>
  find(id: AttachmentId): Promise<AttachmentRecord | undefined>
  /** Records that the part is in the blob store. Idempotent. */
  addPart(id: AttachmentId, index: number): Promise<AttachmentRecord | undefined>
  /** UPLOADING becomes COMPLETE if every part is stored. */
  complete(id: AttachmentId, expiresAtMs: number, audit: AuditEvent): Promise<AttachmentRecord | undefined>
  /** Sets DELETED; `due` then lists it so that its blobs are removed. Idempotent. */
  delete(id: AttachmentId, audit: AuditEvent): Promise<void>
  /** DELETED or expired attachments: remove their blobs, then call `forget`. */
  due(nowMs: number, limit: number): Promise<readonly AttachmentRecord[]>
  /** Erases the record of an attachment whose blobs were removed. Idempotent. */
  forget(id: AttachmentId): Promise<void>
}

/** Opaque bytes by key: parts of attachments. Keys match `[a-z0-9_/-]` and have at most 128 characters. */
export interface BlobStore {
  /**
   * Stores the bytes, replacing existing ones. They are durable when it resolves.
   *
   * @throws Refused STORAGE_FULL, UNAVAILABLE.
   */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** Undefined if the key does not exist. */
  get(key: string): Promise<Uint8Array | undefined>
  /** Size in bytes; undefined if the key does not exist. */
  size(key: string): Promise<number | undefined>
  /** Idempotent. */
  delete(key: string): Promise<void>
  /**
   * A URL for this one request, valid for some minutes. Undefined if the store has none: the server then transfers the
   * bytes.
   */
  presign(verb: "PUT" | "GET", key: string, size: number): Promise<string | undefined>
}
