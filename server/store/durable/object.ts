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

/** Something that an object does when its time has come: erasing what expired, say. */
export interface Timed {
  /** When there is something to do next; null for never. Milliseconds since the Unix epoch. */
  nextAtMs(): number | null
  /** Again is no error. What throws is tried again later. */
  run(nowMs: number): void | Promise<void>
}

const longestWaitMs = 300_000
const auditLane = "audit"

const isAudit = (entry: Entry): entry is Entry & { body: readonly AuditEvent[] } => entry.kind === auditLane

/**
 * What all objects have: tables that are brought up to date on wake, an outbox, and one alarm for all that has its time.
 * A method that others call takes and gives plain data and answers with values: what it throws is a bug.
 */
export abstract class StoredObject<Env extends DurableEnv = DurableEnv> extends DurableObject<Env> {
  protected readonly sql: Sql
  protected readonly outbox: Outbox
  readonly #parts: Parts
  #isMigrated = false
  #isToSend = false
  /** Null for none; undefined when that is not known. */
  #residence: Residence | null | undefined
  /** Of the alarm that is set; undefined when that is not known. */
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

  /** At the first statement rather than at once: whoever asks for an object that is none makes nothing. */
  #migrate(): void {
    if (this.#isMigrated) return
    this.ctx.storage.transactionSync(() => migrate(createSql(this.ctx.storage.sql), this.#parts))
    this.#isMigrated = true
  }

  /** What the Worker's program does for objects: calls to the auth service. */
  protected abstract effects(): Effects

  /** Has the entry done. Throws when it must be tried again. Only objects that write entries have this. */
  protected async deliver({ kind }: Entry): Promise<void> {
    throw new Error(`nobody delivers ${kind}`)
  }

  /** Nothing was ever written here. Ask this first where anybody may ask for any name. */
  protected isBlank(): boolean {
    if (this.#isMigrated) return false
    const tables = this.ctx.storage.sql.exec("select 1 from sqlite_master where name = 'part_version'").toArray()
    return tables.length === 0
  }

  /** Inside the transaction that the events tell of: they follow from the outbox. */
  protected audit(events: readonly AuditEvent[]): void {
    if (events.length > 0) this.outbox.add({ lane: auditLane, kind: auditLane, body: events })
  }

  protected timed(): readonly Timed[] {
    return []
  }

  /** What has its time while the place is being moved waits: everything is to be there as it was. */
  #timedHere(): readonly Timed[] {
    return this.isOpen() ? this.timed() : []
  }

  #resident(): Residence | undefined {
    if (this.#residence === undefined) this.#residence = this.isBlank() ? null : (findResidence(this.sql) ?? null)
    return this.#residence ?? undefined
  }

  /** What this object keeps may be written. */
  protected isOpen(): boolean {
    return isWritable(this.#resident()?.state ?? "OPEN")
  }

  /** Of each method that writes for somebody outside, before anything else. */
  protected requireOpen(): void {
    if (!this.isOpen()) throw heldFault()
  }

  /** Of methods that tell which devices there are. */
  protected requireReadable(): void {
    if (!isReadable(this.#resident()?.state ?? "OPEN")) throw heldFault()
  }

  /** Whether what is kept here, if anything, is of that place: who moves a place may name what is another's. */
  protected isOf(_place: Place): boolean {
    return true
  }

  /** Inside the transaction in which what was imported is opened: the others hear that it is there. */
  protected arrived(): void {}

  /** What is in memory is of what was there. */
  protected forgetAll(): void {}

  /** From who moves the place. Whatever this object has others do is done by then, or the answer says that it is not. */
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

  /** Runs the import, when this object is blank or is being filled by this transfer. @returns whether it is. */
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
   * Nothing is left of it, when it was moved away or is being filled. Again is no error.
   *
   * @returns false while it has something to tell: events of before are not erased with it.
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

  /** Milliseconds since the Unix epoch, for alarms: what a call writes has the time of the call. */
  protected nowMs(): number {
    return Date.now()
  }

  /** A fault that no caller sees: it is tried again. */
  protected report(fault: unknown): void {
    console.error("object fault", fault instanceof Error ? `${fault.name}: ${fault.message}` : typeof fault)
  }

  /**
   * Reads, decides and writes in one: nothing is awaited within, so that no other call comes between. Whatever throws
   * leaves nothing. Sets the alarm for what is due after it, and begins to deliver what it put into the outbox.
   */
  protected transact<T>(work: () => T): T {
    // Before it, and not undone with it.
    this.#migrate()
    this.#isToSend = false
    const done = this.ctx.storage.transactionSync(work)
    this.schedule()
    // Whoever has to know that it came, waits for the same by `outbox.drain`.
    if (this.#isToSend) this.ctx.waitUntil(this.outbox.drain().then(() => this.schedule()))
    return done
  }

  /** Sets the alarm to the first time at which there is something to do, with the write before it. */
  protected schedule(): void {
    const times = [this.outbox.nextAtMs(), ...this.#timedHere().map((one) => one.nextAtMs())].filter(
      (at) => at !== null,
    )
    if (times.length === 0) return
    const atMs = Math.max(Math.min(...times), this.#notBeforeMs)
    // One that comes too early sets the next.
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
    // An alarm that throws is given up after some tries. This one is not.
    this.#failures = isFaulty ? this.#failures + 1 : 0
    this.#notBeforeMs = isFaulty ? this.nowMs() + Math.min(1_000 * 2 ** this.#failures, longestWaitMs) : 0
    this.schedule()
  }
}
