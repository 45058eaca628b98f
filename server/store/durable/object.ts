import { DurableObject } from "cloudflare:workers"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Place } from "@signet/kernel/messaging/records"
import { type Alarm, createAlarm, type Timed } from "./alarm.ts"
import { type Effects, PermanentlyRefused } from "./effects.ts"
import type { DurableEnv } from "./env.ts"
import { migrate, type Parts } from "./migrate.ts"
import { heldFault, type Residence, residenceSteps, type Settled } from "./moving/residence.ts"
import { createResidency, type Residency } from "./moving/residency.ts"
import { createOutbox, type Entry, type Outbox, outboxSteps } from "./outbox.ts"
import { createSql, type Sql } from "./sql.ts"

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
  readonly #residency: Residency
  readonly #alarm: Alarm

  constructor(ctx: DurableObjectState, env: Env, parts: Parts) {
    super(ctx, env)
    this.#parts = { outbox: outboxSteps, residence: residenceSteps, ...parts }
    this.sql = createSql(ctx.storage.sql, () => this.#migrate())
    const outbox = createOutbox({
      sql: this.sql,
      nowMs: () => this.nowMs(),
      deliver: (entry) => (isAudit(entry) ? this.effects().audit(entry.body) : this.deliver(entry)),
      isPermanent: (fault) => fault instanceof PermanentlyRefused,
      report: (fault) => this.report(fault),
    })
    this.outbox = {
      ...outbox,
      add: (entry) => {
        outbox.add(entry)
        this.#isToSend = true
      },
    }
    this.#residency = createResidency({
      sql: this.sql,
      isBlank: () => this.isBlank(),
      transact: (work) => this.transact(work),
    })
    this.#alarm = createAlarm({
      storage: ctx.storage,
      outbox: this.outbox,
      timed: () => this.#timedHere(),
      nowMs: () => this.nowMs(),
      report: (fault) => this.report(fault),
    })
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

  /** True if the object's data may be written. */
  protected isOpen(): boolean {
    return this.#residency.isOpen()
  }

  /** For a caller's write of one row, without `write`. @throws heldFault */
  protected requireOpen(): void {
    if (!this.isOpen()) throw heldFault()
  }

  /** For methods that list devices. @throws heldFault */
  protected requireReadable(): void {
    if (!this.#residency.isReadable()) throw heldFault()
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
    const isNew = this.#residency.change(residence, () => this.arrived())
    const text = "select distinct lane from outbox where kind not in ('audit', 'sessions')"
    const lanes = this.sql.rows<{ lane: string }>(text).map(({ lane }) => lane)
    await this.outbox.drain(lanes)
    return { isDirty: isNew || this.sql.rows(text).length > 0 }
  }

  /** Runs the import, if this object is blank or is receiving this transfer. @returns True if it is. */
  protected importing(of: Omit<Residence, "state">, work: () => void): boolean {
    return this.#residency.importing(of, work)
  }

  /**
   * Erases the object, if it was moved away or is receiving. Idempotent.
   *
   * @returns False while the outbox has undelivered entries, such as audit events, which must not be erased.
   */
  async eraseAll(place: Place): Promise<boolean> {
    if (!this.isOf(place)) return true
    const state = this.#residency.state()
    if (state !== "MOVED" && state !== "RECEIVING") return true
    const lanes = this.sql.rows<{ lane: string }>("select distinct lane from outbox").map(({ lane }) => lane)
    await this.outbox.drain(lanes)
    if (this.sql.row("select 1 from outbox limit 1") !== undefined) return false
    await this.ctx.storage.deleteAlarm()
    await this.ctx.storage.deleteAll()
    this.#isMigrated = false
    this.#residency.forget()
    this.#alarm.forget()
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

  /** The transaction of a caller's write. @throws heldFault */
  protected write<T>(work: () => T): T {
    this.requireOpen()
    return this.transact(work)
  }

  /**
   * A transaction that also runs while the place is being moved: for notices of other objects, and for the move itself.
   * It is synchronous: nothing is awaited within, so no other call interleaves, and an error rolls back.
   * Sets the alarm for the next due work, and starts to deliver new outbox entries.
   */
  protected transact<T>(work: () => T): T {
    // Before the transaction, so that it is not rolled back with it.
    this.#migrate()
    this.#isToSend = false
    const done = this.ctx.storage.transactionSync(work)
    this.#alarm.schedule()
    // A caller that needs the delivery awaits the same run by `outbox.drain`.
    if (this.#isToSend) this.ctx.waitUntil(this.outbox.drain().then(() => this.#alarm.schedule()))
    return done
  }

  override async alarm(): Promise<void> {
    await this.#alarm.ring()
  }
}
