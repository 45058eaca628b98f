import type { AuditEvent } from "@signet/kernel/audit/event"
import type { DeviceId } from "@signet/kernel/ids"
import { blobKey, missingParts, partIndexes } from "@signet/kernel/messaging/attachment"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import type { AttachmentRecord } from "@signet/kernel/messaging/records"
import type { DurableEnv } from "../env.ts"
import type { Residence, Settled } from "../moving/residence.ts"
import { StoredObject, type Timed } from "../object.ts"
import type { Entry } from "../outbox.ts"
import { fromText, toText } from "../plain.ts"

const attachmentSteps = [
  `create table attachment (id integer primary key check (id = 1), record text not null, erase_at integer not null)`,
] as const

/** How long one that was deleted is there. */
const deletedMs = 120_000

type Key = Pick<AttachmentRecord, "id" | "ownerDeviceId" | "idempotencyKey">

const keyLane = "key"
const isOfKey = (entry: Entry): entry is Entry & { body: Key } => entry.kind === keyLane

/** One attachment. When it was deleted or has had its time its blobs go, and then it. */
export abstract class AttachmentObject extends StoredObject {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { attachment: attachmentSteps })
  }

  /** Where parts are kept. */
  protected abstract blobs(): Pick<BlobStore, "delete">

  /** Makes it, unless it is there. @returns what is there. */
  create(record: AttachmentRecord): AttachmentRecord {
    this.requireOpen()
    return this.transact(() => this.#find() ?? this.#write(record))
  }

  find(): AttachmentRecord | undefined {
    return this.isBlank() ? undefined : this.#find()
  }

  /** The part is in the blob store. Again is no error. */
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

  /** Its key may name another from now on. */
  forget(): void {
    this.#change(({ id, ownerDeviceId, idempotencyKey }) => {
      const body: Key = { id, ownerDeviceId, idempotencyKey }
      this.outbox.add({ lane: keyLane, kind: keyLane, body })
      return undefined
    })
  }

  /** @returns false where it is another place's, or is not being filled. */
  importRecord(of: Omit<Residence, "state">, record: AttachmentRecord): boolean {
    return this.importing(of, () => {
      if (this.#find() === undefined) this.#write(record)
    })
  }

  /** From who moves the place of that device: nothing, when it is another's. */
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

  /** First its bytes, then that it was there: whoever stops in between begins again. */
  async #erase(): Promise<void> {
    const record = this.#find()
    if (record === undefined) return
    const blobs = this.blobs()
    for (const index of partIndexes(record)) await blobs.delete(blobKey(record, index))
    this.forget()
  }

  /** One change; undefined is the end of it. @returns what is there after it. */
  #change(work: (record: AttachmentRecord) => AttachmentRecord | undefined): AttachmentRecord | undefined {
    if (this.isBlank()) return undefined
    this.requireOpen()
    return this.transact(() => {
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
   * One that expired is kept for as long as an address that was handed out is good, which is longer than any call lasts:
   * nothing is put, or completed, behind its end. One that was deleted is known a little longer, so that deleting it again
   * is no error for who did not hear the answer.
   */
  #write(record: AttachmentRecord): AttachmentRecord {
    const eraseAt = record.status === "DELETED" ? this.nowMs() + deletedMs : record.expiresAtMs + lifetimeMs.presigned
    this.sql.run("insert or replace into attachment (id, record, erase_at) values (1, ?, ?)", toText(record), eraseAt)
    return record
  }
}
