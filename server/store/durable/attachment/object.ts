import type { AuditEvent } from "@signet/kernel/audit/event"
import type { DeviceId } from "@signet/kernel/ids"
import { blobKey, missingParts, partIndexes } from "@signet/kernel/messaging/attachment"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import type { Timed } from "../alarm.ts"
import type { DurableEnv } from "../env.ts"
import type { Residence, Settled } from "../moving/residence.ts"
import { StoredObject } from "../object.ts"
import type { Entry } from "../outbox.ts"
import { fromText, toText } from "../plain.ts"

const attachmentSteps = [
  `create table attachment (id integer primary key check (id = 1), record text not null, erase_at integer not null)`,
] as const

/** How long a deleted attachment's record is kept, in milliseconds. */
const deletedMs = 120_000

type Key = Pick<AttachmentRecord, "id" | "ownerDeviceId" | "idempotencyKey">

const keyLane = "key"
const isOfKey = (entry: Entry): entry is Entry & { body: Key } => entry.kind === keyLane

/** One attachment. After its deletion or expiry the alarm erases its blobs, then its record. */
export abstract class AttachmentObject extends StoredObject {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { attachment: attachmentSteps })
  }

  /** The blob store of the parts. */
  protected abstract blobs(): Pick<BlobStore, "delete">

  /** Inserts the attachment unless it exists. @returns The stored record. */
  create(record: AttachmentRecord): AttachmentRecord {
    return this.write(() => this.#find() ?? this.#write(record))
  }

  find(): AttachmentRecord | undefined {
    return this.isBlank() ? undefined : this.#find()
  }

  /** Records that the part is in the blob store. Idempotent. */
  addPart(index: number): AttachmentRecord | undefined {
    return this.#change((record) => {
      if (record.status !== "UPLOADING" || record.parts.includes(index)) return record
      return { ...record, parts: [...record.parts, index].toSorted((a, b) => a - b) }
    })
  }

  complete(expiresAtMs: number, audit: AuditEvent): AttachmentRecord | undefined {
    return this.#change((record) => {
      if (record.status !== "UPLOADING" || missingParts(record).length > 0) return record
      this.audit([audit])
      return { ...record, status: "COMPLETE", expiresAtMs }
    })
  }

  delete(audit: AuditEvent): void {
    this.#change((record) => {
      if (record.status === "DELETED") return record
      this.audit([audit])
      return { ...record, status: "DELETED" }
    })
  }

  /** Deletes the record; its idempotency key may name another attachment afterwards. */
  forget(): void {
    this.#change(({ id, ownerDeviceId, idempotencyKey }) => {
      const body: Key = { id, ownerDeviceId, idempotencyKey }
      this.outbox.add({ lane: keyLane, kind: keyLane, body })
      return undefined
    })
  }

  /** @returns False when the object is another place's, or is not receiving this transfer. */
  importRecord(of: Omit<Residence, "state">, record: AttachmentRecord): boolean {
    return this.importing(of, () => {
      if (this.#find() === undefined) this.#write(record)
    })
  }

  /** Called by a move of the owner device's place. Does nothing for another device's attachment. */
  async setPlaceOf(owner: DeviceId, residence: Residence): Promise<Settled> {
    const there = this.find()
    if (there !== undefined && there.ownerDeviceId !== owner) return { isDirty: false }
    return this.setPlace(residence)
  }

  protected override async deliver(entry: Entry): Promise<void> {
    if (!isOfKey(entry)) return super.deliver(entry)
    const { id, ownerDeviceId, idempotencyKey } = entry.body
    await this.env.DEVICES.getByName(ownerDeviceId).freeAttachmentKey(idempotencyKey, id)
  }

  protected override timed(): readonly Timed[] {
    const next = () => this.sql.row<{ erase_at: number }>("select erase_at from attachment")?.erase_at ?? null
    return [{ nextAtMs: next, run: () => this.#erase() }]
  }

  /** Erases the bytes before the record, so that an interrupted run is repeated. */
  async #erase(): Promise<void> {
    const record = this.#find()
    if (record === undefined) return
    const blobs = this.blobs()
    for (const index of partIndexes(record)) await blobs.delete(blobKey(record, index))
    this.forget()
  }

  /** Changes the record in one transaction; undefined deletes it. @returns The record afterwards. */
  #change(work: (record: AttachmentRecord) => AttachmentRecord | undefined): AttachmentRecord | undefined {
    if (this.isBlank()) return undefined
    return this.write(() => {
      const before = this.#find()
      if (before === undefined) return undefined
      const after = work(before)
      if (after === undefined) this.sql.run("delete from attachment")
      return after === undefined || after === before ? after : this.#write(after)
    })
  }

  #find(): AttachmentRecord | undefined {
    const row = this.sql.row<{ record: string }>("select record from attachment")
    return row && fromText<AttachmentRecord>(row.record)
  }

  /**
   * Stores the record. An expired attachment stays for the life of a presigned URL, which is longer than any call, so
   * nothing is put or completed after its end. A deleted attachment's record stays a little longer, so that a retried
   * deletion succeeds.
   */
  #write(record: AttachmentRecord): AttachmentRecord {
    const eraseAt = record.status === "DELETED" ? this.nowMs() + deletedMs : record.expiresAtMs + lifetimeMs.presigned
    this.sql.run("insert or replace into attachment (id, record, erase_at) values (1, ?, ?)", toText(record), eraseAt)
    return record
  }
}
