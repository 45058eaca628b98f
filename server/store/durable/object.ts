import { DurableObject } from "cloudflare:workers"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { Effects } from "./effects.ts"
import type { DurableEnv } from "./env.ts"
import { migrate, type Parts } from "./migrate.ts"
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
  /** Of the alarm that is set; undefined when that is not known. */
  #alarmAtMs: number | undefined
  #failures = 0
  #notBeforeMs = 0

  constructor(ctx: DurableObjectState, env: Env, parts: Parts) {
    super(ctx, env)
    this.#parts = { outbox: outboxSteps, ...parts }
    this.sql = createSql(ctx.storage.sql, () => this.#migrate())
    const outbox = createOutbox({
      sql: this.sql,
      nowMs: () => this.nowMs(),
      deliver: (entry) => (isAudit(entry) ? this.effects().audit(entry.body) : this.deliver(entry)),
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
    const times = [this.outbox.nextAtMs(), ...this.timed().map((one) => one.nextAtMs())].filter((at) => at !== null)
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
    for (const one of this.timed()) {
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
