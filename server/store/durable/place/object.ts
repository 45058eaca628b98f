import type { AuditEvent } from "@signet/kernel/audit/event"
import type { ConversationId, PrincipalId } from "@signet/kernel/ids"
import { equalBytes } from "@signet/kernel/messaging/bytes"
import { isWritable, type PlaceStatus } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import type { Timed } from "../alarm.ts"
import type { Indexed } from "../device/conversations.ts"
import type { DurableEnv } from "../env.ts"
import { inParallel } from "../in-parallel.ts"
import {
  beginStep,
  nextWalk,
  type StepAsked,
  transferOf,
  transferSteps,
  type WalkPage,
  walked,
} from "../moving/place.ts"
import { userName } from "../names.ts"
import { StoredObject } from "../object.ts"
import { fromText, toText } from "../plain.ts"

const placeSteps = [
  `create table conversation (id text primary key, created_at integer not null) without rowid;
  create table user (id text primary key, version integer not null, has_devices integer not null) without rowid;
  create index user_of_device on user (id) where has_devices = 1;
  -- Who is gone is asked user by user: after whom, and when.
  create table look (id integer primary key check (id = 1), place text not null, after text not null, at integer)`,
] as const

/** The interval of checks for removed users, and the most users per check. */
const lookEveryMs = 300_000
const usersPerLook = 500

/** A user's notice to its place. The newest version wins. */
export interface PlaceUser {
  readonly userId: PrincipalId
  readonly place: Place
  /** The version of its device list. */
  readonly version: bigint
  /** True if it has active devices or archives. */
  readonly hasDevices: boolean
}

const tellText = `insert into user (id, version, has_devices) values (?, ?, ?)
on conflict (id) do update set version = excluded.version, has_devices = excluded.has_devices
where version < excluded.version or (version = excluded.version and not excluded.has_devices)`
const looksAtText = "select id from user where has_devices = 1 and id > ? order by id limit ?"

/**
 * The index of a place's users and conversations, whose objects report themselves at least once. A move of a tenant
 * uses it. The object also checks regularly which users were removed.
 */
export abstract class PlaceObject extends StoredObject {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { place: placeSteps, transfer: transferSteps })
  }

  /** Idempotent. */
  addConversation(id: ConversationId, createdAtMs: number): void {
    this.transact(() =>
      this.sql.run("insert into conversation (id, created_at) values (?, ?) on conflict do nothing", id, createdAtMs),
    )
  }

  /**
   * Idempotent; an outdated notice changes nothing. Without a device no archive is created, so at one version a user
   * who has nothing more is the newest.
   */
  tellUser({ userId, place, version, hasDevices }: PlaceUser): void {
    this.transact(() => {
      this.sql.run(tellText, userId, version, hasDevices)
      if (!hasDevices || this.#look()?.at != null) return
      const atMs = this.nowMs() + lookEveryMs
      this.sql.run("insert or replace into look (id, place, after, at) values (1, ?, '', ?)", toText(place), atMs)
    })
  }

  /** Ids in order, after the given one. */
  conversations(page: { readonly after: ConversationId | null; readonly size: number }): readonly ConversationId[] {
    if (this.isBlank()) return []
    const text = "select id from conversation where id > ? order by id limit ?"
    return this.sql.rows<{ id: ConversationId }>(text, page.after ?? "", page.size).map(({ id }) => id)
  }

  /** Ids in order, after the given one. */
  users(page: { readonly after: PrincipalId | null; readonly size: number }): readonly PrincipalId[] {
    if (this.isBlank()) return []
    const text = "select id from user where id > ? order by id limit ?"
    return this.sql.rows<{ id: PrincipalId }>(text, page.after ?? "", page.size).map(({ id }) => id)
  }

  /** The state of the place. */
  status(): PlaceStatus {
    if (this.isBlank()) return { state: "OPEN", transferId: null, changedAtMs: null, isEmpty: true }
    return transferOf(this.sql)
  }

  /**
   * Records a new user or conversation before it is created, so that a hold notifies it. @returns False when the place
   * is not open.
   */
  admit(
    of: { readonly userId: PrincipalId } | { readonly conversationId: ConversationId; readonly createdAtMs: number },
  ) {
    if (!isWritable(this.status().state)) return false
    if ("userId" in of) this.#add("user", of.userId)
    else this.addConversation(of.conversationId, of.createdAtMs)
    return true
  }

  /** As `admit`, for imported records. */
  admitAll(transferId: Uint8Array, userIds: readonly PrincipalId[], conversations: readonly Indexed[]): boolean {
    const { state, transferId: of } = this.status()
    if (state !== "RECEIVING" || of === null || !equalBytes(of, transferId)) return false
    for (const userId of userIds) this.#add("user", userId)
    for (const { id, createdAtMs } of conversations) this.addConversation(id, createdAtMs)
    return true
  }

  /** Removes erased users and conversations. */
  forget(userIds: readonly PrincipalId[], conversationIds: readonly ConversationId[]): void {
    this.transact(() => {
      for (const id of userIds) this.sql.run("delete from user where id = ?", id)
      for (const id of conversationIds) this.sql.run("delete from conversation where id = ?", id)
    })
  }

  knows(ids: readonly ConversationId[]): readonly ConversationId[] {
    return ids.filter((id) => this.sql.row("select 1 from conversation where id = ?", id) !== undefined)
  }

  /** @returns False when the step does not follow the current state. */
  beginStep(asked: StepAsked): boolean {
    return this.transact(() => beginStep(this.sql, asked, (events) => this.audit(events)))
  }

  nextWalk(): WalkPage | undefined {
    return nextWalk(this.sql)
  }

  walked(page: WalkPage, isDirty: boolean, nowMs: number): void {
    this.transact(() => walked(this.sql, page, isDirty, nowMs, (events) => this.audit(events)))
  }

  erased(event: AuditEvent): void {
    this.transact(() => this.audit([event]))
  }

  #add(table: "user", id: PrincipalId): void {
    const text = `insert into ${table} (id, version, has_devices) values (?, 0, 0) on conflict do nothing`
    this.transact(() => this.sql.run(text, id))
  }

  protected override timed(): readonly Timed[] {
    if (!isWritable(transferOf(this.sql).state)) return []
    return [{ nextAtMs: () => this.#look()?.at ?? null, run: (nowMs) => this.#endThoseGone(nowMs) }]
  }

  #look() {
    return this.sql.row<{ place: string; after: string; at: number | null }>("select place, after, at from look")
  }

  async #endThoseGone(nowMs: number): Promise<void> {
    const look = this.#look()
    if (look === undefined) return
    const place = fromText<Place>(look.place)
    const rows = this.sql.rows<{ id: PrincipalId }>(looksAtText, look.after, usersPerLook)
    const ids = rows.map(({ id }) => id)
    const gone = ids.length === 0 ? [] : await this.effects().goneUsers(ids, place)
    await inParallel(gone, async (id) => {
      // A user whose removal fails is checked again.
      await this.env.USERS.getByName(userName(id, place))
        .end()
        .catch((fault: unknown) => this.report(fault))
    })
    const last = ids.length < usersPerLook ? "" : (ids.at(-1) ?? "")
    const isAny = last !== "" || this.sql.rows(looksAtText, "", 1).length > 0
    const atMs = last === "" ? this.nowMs() + lookEveryMs : nowMs
    this.sql.run("update look set after = ?, at = ?", last, isAny ? atMs : null)
  }
}
