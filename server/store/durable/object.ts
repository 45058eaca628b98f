import { DurableObject } from "cloudflare:workers"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { isReadable, isWritable } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { type Effects, RefusedForGood } from "./effects.ts"
import type { DurableEnv } from "./env.ts"
import { migrate, type Parts } from "./migrate.ts"
import {
  findResidence,
  heldFault,
  isSameBytes,
  putResidence,
  type Residence,
  residenceSteps,
  type Settled,
} from "./moving/residence.ts"
import { placeName } from "./names.ts"
import { createOutbox, type Entry, type Outbox, outboxSteps } from "./outbox.ts"
import { createSql, type Sql } from "./sql.ts"

/** Work of an object at a time, such as erasing expired records. */
export interface Timed {
  /** The time of the next work in milliseconds since the Unix epoch; null for none. */
  nextAtMs(): number | null
  /** Idempotent. After an error it is retried later. */
  run(nowMs: number): void | Promise<void>
}

const longestWaitMs = 300_000
const auditLane = "audit"

const isAudit = (entry: Entry): entry is Entry & { body: readonly AuditEvent[] } => entry.kind === auditLane

/**
 * The base of all objects: tables that migrate on wake, an outbox, and one alarm for all timed work. A method that
 * others call takes and returns plain data. An error that it throws is a bug.
 */
export abstract class StoredObject<Env extends DurableEnv = DurableEnv> extends DurableObject<Env> {
  protected readonly sql: Sql
  protected readonly outbox: Outbox
  readonly #parts: Parts
  #isMigrated = false
  #isToSend = false
  /** Null for none; undefined while unknown. */
  #residence: Residence | null | undefined
  /** The time of the current alarm; undefined while unknown. */
  #alarmAtMs: number | undefined
  #failures = 0
  #notBeforeMs = 0

  constructor(ctx: DurableObjectState, env: Env, parts: Parts) {
    super(ctx, env)
    this.#parts = { outbox: outboxSteps, residence: residenceSteps, ...parts }
    this.sql = createSql(ctx.storage.sql, () => this.#migrate())
    const outbox = createOutbox({
      sql: this.sql,
      nowMs: () => this.nowMs(),
      deliver: (entry) => (isAudit(entry) ? this.effects().audit(entry.body) : this.deliver(entry)),
      isForGood: (fault) => fault instanceof RefusedForGood,
      report: (fault) => this.report(fault),
    })
    this.outbox = {
      ...outbox,
      add: (entry) => {
        outbox.add(entry)
        this.#isToSend = true
      },
    }
  }

  /** Runs at the first statement, so that a call of an unused name creates no tables. */
  #migrate(): void {
    if (this.#isMigrated) return
    this.ctx.storage.transactionSync(() => migrate(createSql(this.ctx.storage.sql), this.#parts))
    this.#isMigrated = true
  }

  /** The effects on the auth service, provided by the Worker's program. */
  protected abstract effects(): Effects

  /** Delivers an outbox entry. An error is retried. Only objects that write entries implement this. */
  protected async deliver({ kind }: Entry): Promise<void> {
    throw new Error(`nobody delivers ${kind}`)
  }

  /** True if nothing was ever written here. Check this first in methods that anyone may call with any name. */
  protected isBlank(): boolean {
    if (this.#isMigrated) return false
    const tables = this.ctx.storage.sql.exec("select 1 from sqlite_master where name = 'part_version'").toArray()
    return tables.length === 0
  }

  /** Adds events to the outbox. Requires the transaction of their change. */
  protected audit(events: readonly AuditEvent[]): void {
    if (events.length > 0) this.outbox.add({ lane: auditLane, kind: auditLane, body: events })
  }

  protected timed(): readonly Timed[] {
    return []
  }

  /** No timed work runs while the place is being moved, so that the data stays unchanged. */
  #timedHere(): readonly Timed[] {
    return this.isOpen() ? this.timed() : []
  }

  #resident(): Residence | undefined {
    if (this.#residence === undefined) this.#residence = this.isBlank() ? null : (findResidence(this.sql) ?? null)
    return this.#residence ?? undefined
  }

  /** True if the object's data may be written. */
  protected isOpen(): boolean {
    return isWritable(this.#resident()?.state ?? "OPEN")
  }

  /** Every method that writes for a caller calls this first. @throws heldFault */
  protected requireOpen(): void {
    if (!this.isOpen()) throw heldFault()
  }

  /** For methods that list devices. @throws heldFault */
  protected requireReadable(): void {
    if (!isReadable(this.#resident()?.state ?? "OPEN")) throw heldFault()
  }

  /** True if the object is blank or of that place: a move may name another place's objects. */
  protected isOf(_place: Place): boolean {
    return true
  }

  /** Requires the transaction that opens imported data: other objects are notified of it. */
  protected arrived(): void {}

  /** Discards cached state. */
  protected forgetAll(): void {}

  /** Called by a move of the place. Afterwards the outbox is delivered, or the answer says that it is not. */
  async setPlace(residence: Residence): Promise<Settled> {
    if (!this.isOf(residence.place)) return { isDirty: false }
    const before = this.#resident()?.state ?? "OPEN"
    const isNew = before !== residence.state
    if (isNew) {
      this.#residence = residence
      try {
        this.transact(() => {
          putResidence(this.sql, residence)
          if (before === "RECEIVING" && residence.state === "OPEN") this.arrived()
        })
      } catch (fault) {
        this.#residence = undefined
        throw fault
      }
    }
    const text = "select distinct lane from outbox where kind not in ('audit', 'sessions')"
    const lanes = this.sql.rows<{ lane: string }>(text).map(({ lane }) => lane)
    await this.outbox.drain(lanes)
    return { isDirty: isNew || this.sql.rows(text).length > 0 }
  }

  /** Runs the import, if this object is blank or is receiving this transfer. @returns True if it is. */
  protected importing(of: Omit<Residence, "state">, work: () => void): boolean {
    const there = this.#resident()
    const isBlank = this.isBlank()
    const isOurs =
      there?.state === "RECEIVING" &&
      isSameBytes(there.transferId, of.transferId) &&
      placeName(there.place) === placeName(of.place)
    if (!isBlank && !isOurs) return false
    const residence: Residence = { ...of, state: "RECEIVING" }
    this.#residence = residence
    try {
      this.transact(() => {
        if (!isOurs) putResidence(this.sql, residence)
        work()
      })
    } catch (fault) {
      this.#residence = undefined
      throw fault
    }
    return true
  }

  /**
   * Erases the object, if it was moved away or is receiving. Idempotent.
   *
   * @returns False while the outbox has undelivered entries, such as audit events, which must not be erased.
   */
  async eraseAll(place: Place): Promise<boolean> {
    if (!this.isOf(place)) return true
    const state = this.#resident()?.state
    if (state !== "MOVED" && state !== "RECEIVING") return true
    const lanes = this.sql.rows<{ lane: string }>("select distinct lane from outbox").map(({ lane }) => lane)
    await this.outbox.drain(lanes)
    if (this.sql.row("select 1 from outbox limit 1") !== undefined) return false
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
    this.#isMigrated = false
    this.#residence = undefined
    this.#alarmAtMs = undefined
    this.forgetAll()
    return true
  }

  /** Milliseconds since the Unix epoch, for alarms. A call's writes use the call's time. */
  protected nowMs(): number {
    return Date.now()
  }

  /** Logs an error that no caller sees and that is retried. */
  protected report(fault: unknown): void {
    console.error("object fault", fault instanceof Error ? `${fault.name}: ${fault.message}` : typeof fault)
  }

  /**
   * Runs a transaction synchronously: nothing is awaited within, so no other call interleaves, and an error rolls back.
   * Sets the alarm for the next due work, and starts to deliver new outbox entries.
   */
  protected transact<T>(work: () => T): T {
    // Before the transaction, so that it is not rolled back with it.
    this.#migrate()
    this.#isToSend = false
    const done = this.ctx.storage.transactionSync(work)
    this.schedule()
    // A caller that needs the delivery awaits the same run by `outbox.drain`.
    if (this.#isToSend) this.ctx.waitUntil(this.outbox.drain().then(() => this.schedule()))
    return done
  }

  /** Sets the alarm to the earliest due time, with the write before it. */
  protected schedule(): void {
    const times = [this.outbox.nextAtMs(), ...this.#timedHere().map((one) => one.nextAtMs())].filter(
      (at) => at !== null,
    )
    if (times.length === 0) return
    const atMs = Math.max(Math.min(...times), this.#notBeforeMs)
    // An early alarm sets the next one.
    if (this.#alarmAtMs !== undefined && this.#alarmAtMs <= atMs) return
    this.#alarmAtMs = atMs
    void this.ctx.storage.setAlarm(Date.now() + atMs - this.nowMs())
  }

  override async alarm(): Promise<void> {
    this.#alarmAtMs = undefined
    const nowMs = this.nowMs()
    let isFaulty = false
    for (const one of this.#timedHere()) {
      const atMs = one.nextAtMs()
      if (atMs === null || atMs > nowMs) continue
      try {
        await one.run(nowMs)
      } catch (fault) {
        isFaulty = true
        this.report(fault)
      }
    }
    await this.outbox.drain()
    // The runtime drops an alarm after several errors, so this one never throws.
    this.#failures = isFaulty ? this.#failures + 1 : 0
    this.#notBeforeMs = isFaulty ? this.nowMs() + Math.min(1_000 * 2 ** this.#failures, longestWaitMs) : 0
    this.schedule()
  }
}
