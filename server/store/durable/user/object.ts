import type { AuditEvent } from "@signet/kernel/audit/event"
import type { ConversationId, DeviceId, PrincipalId, SessionId } from "@signet/kernel/ids"
import type { DeviceChange } from "@signet/kernel/messaging/ports"
import type { MessagingDevice, Place, SignedDeviceList } from "@signet/kernel/messaging/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { UserNotice } from "../conversation/told.ts"
import type { Indexed } from "../device/conversations.ts"
import type { Effects } from "../effects.ts"
import type { DurableEnv } from "../env.ts"
import { type Page, pageOf, type Reached } from "../moving/pages.ts"
import type { Residence } from "../moving/residence.ts"
import { deviceIdsOf, importUser, type UserRecord, userParts } from "../moving/user.ts"
import { placeName } from "../names.ts"
import type { Timed } from "../object.ts"
import type { Entry } from "../outbox.ts"
import type { PlaceUser } from "../place/object.ts"
import type { UserAsk } from "../stream-asks.ts"
import { TellingObject } from "../telling.ts"
import {
  askedById,
  countConversations,
  newestAsked,
  tellUserConversation,
  userConversationSteps,
} from "./conversations.ts"
import {
  activeDevices,
  allDevices,
  dueEffects,
  findDevice,
  findSelf,
  hasKey,
  hasLostKey,
  listsAfter,
  loseKey,
  newestList,
  nextEffectAt,
  putDevice,
  putEffect,
  putList,
  putSelf,
  userSteps,
} from "./rows.ts"

/** A revocation is carried out by the call that made it. What that left is done after this, and again. */
const effectAfterMs = 5_000

type SessionChange = Parameters<Effects["changeSessions"]>[0]
const sessionLane = "sessions"
const placeLane = "place"
const isOfPlace = (entry: Entry): entry is Entry & { body: PlaceUser } => entry.kind === placeLane
const isOfSessions = (entry: Entry): entry is Entry & { body: SessionChange } => entry.kind === sessionLane

export interface Revoked {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
}

/** What a change says of its keys: "prepare" asks for these devices to be given theirs first. */
export type Changed =
  | { readonly is: "done" | "lost" }
  | { readonly is: "prepare"; readonly devices: readonly DeviceId[] }

/** The devices of a user at a place, and the lists that say so. */
export abstract class UserObject extends TellingObject<UserAsk> {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { user: userSteps, conversations: userConversationSteps })
  }

  /** Carries out what follows from these revocations; what it has done it says with `effectsDone`. */
  protected abstract carryOut(revoked: readonly Revoked[]): Promise<void>

  /** Revokes all devices of the user there, who is gone for good. Again is no error. */
  protected abstract endDevices(userId: PrincipalId, place: Place): Promise<void>

  find(id: DeviceId): MessagingDevice | undefined {
    this.requireReadable()
    return this.isBlank() ? undefined : findDevice(this.sql, id)
  }

  /** The device, when this leaf key is or was its own. */
  findByKey(id: DeviceId, leafKey: Uint8Array): MessagingDevice | undefined {
    return !this.isBlank() && hasKey(this.sql, id, leafKey) ? findDevice(this.sql, id) : undefined
  }

  all(): { devices: readonly MessagingDevice[]; newest: SignedDeviceList | undefined } {
    this.requireReadable()
    if (this.isBlank()) return { devices: [], newest: undefined }
    return { devices: allDevices(this.sql), newest: newestList(this.sql) }
  }

  active(): readonly MessagingDevice[] {
    this.requireReadable()
    return this.isBlank() ? [] : activeDevices(this.sql)
  }

  lists(afterVersion: bigint, limit: number): readonly SignedDeviceList[] {
    this.requireReadable()
    return this.isBlank() ? [] : listsAfter(this.sql, afterVersion, limit)
  }

  /**
   * Writes the change when the newest list is still the one before.
   *
   * @param isPrepared Each device that was asked for holds the name of its leaf key, and knows its user.
   */
  async change(change: DeviceChange, isPrepared: boolean): Promise<Changed> {
    this.requireOpen()
    const { sql } = this
    const done = this.transact<Changed>(() => {
      const newest = newestList(sql)
      if ((newest?.version ?? 0n) + 1n !== change.list.version) return { is: "lost" }
      if (change.devices.some(({ id, leafKey }) => hasLostKey(sql, id, leafKey))) return { is: "lost" }
      const asked = change.devices.filter(({ id, leafKey }) => !hasKey(sql, id, leafKey)).map(({ id }) => id)
      if (asked.length > 0 && !isPrepared) return { is: "prepare", devices: asked }
      this.#write(change)
      return { is: "done" }
    })
    if (done.is === "done") this.tell([{ is: "deviceList", userId: change.userId, version: change.list.version }])
    // Whoever registers refreshes its session next, and finds the device in its token.
    if (done.is === "done") await this.outbox.drain([sessionLane])
    return done
  }

  #write({ userId, place, devices, list, bind, revoked, nowMs, audit }: DeviceChange): void {
    const { sql } = this
    putList(sql, list)
    for (const device of devices) {
      putDevice(sql, device)
      if (device.status !== "REVOKED") continue
      putEffect(sql, device.id, device.revokedAtMs ?? device.changedAtMs, this.nowMs() + effectAfterMs)
    }
    const hasDevices = activeDevices(sql).length > 0
    if (findSelf(sql)?.hasDevices !== hasDevices) {
      putSelf(sql, { userId, place, hasDevices })
      const body: PlaceUser = { userId, place, version: list.version, hasDevices }
      this.outbox.add({ lane: placeLane, kind: placeLane, body })
    }
    if (bind !== null || revoked.length > 0) {
      const body: SessionChange = { list: list.bytes, bind, revoked, nowMs }
      this.outbox.add({ lane: sessionLane, kind: sessionLane, body })
    }
    this.audit(audit)
  }

  async bindSession(sessionId: SessionId, deviceId: DeviceId, audit: AuditEvent): Promise<void> {
    this.transact(() => {
      const list = newestList(this.sql)?.bytes
      if (list === undefined) throw new Error("a device without a list")
      // Revoked meanwhile: no list says any more that the session may be its.
      if (findDevice(this.sql, deviceId)?.status !== "ACTIVE") return
      const body: SessionChange = { list, bind: { sessionId, deviceId }, revoked: [], nowMs: this.nowMs() }
      this.outbox.add({ lane: sessionLane, kind: sessionLane, body })
      this.audit([audit])
    })
    await this.outbox.drain([sessionLane])
  }

  /** From a conversation's outbox: whether the user is in, or asked. Again is no error. */
  tellConversation(notice: UserNotice): void {
    this.transact(() => tellUserConversation(this.sql, notice))
  }

  /** Conversations that it was asked into, as far as they have told, the newest first. */
  newestAsked(page: { readonly size: number; readonly before: Indexed | null }): readonly Indexed[] {
    return this.isBlank() ? [] : newestAsked(this.sql, page)
  }

  /** The same by id. */
  askedById(page: { readonly size: number; readonly after: ConversationId | null }): readonly Indexed[] {
    return this.isBlank() ? [] : askedById(this.sql, page)
  }

  /** How many the user is in or was asked into; counted as far as it matters. */
  countConversations(most: number): number {
    return this.isBlank() ? 0 : countConversations(this.sql, most)
  }

  /**
   * Another device wants a key whose name this device took. Says whether it has the key, and if not, sees to it that it
   * never will: a change that is under way is lost then.
   */
  settleKey(deviceId: DeviceId, leafKey: Uint8Array): "held" | "given up" {
    return this.transact(() => {
      if (hasKey(this.sql, deviceId, leafKey)) return "held"
      loseKey(this.sql, deviceId, leafKey)
      return "given up"
    })
  }

  /** From its place: the user is gone for good. */
  async end(): Promise<void> {
    const self = this.isBlank() ? undefined : findSelf(this.sql)
    if (self?.hasDevices) await this.endDevices(self.userId, self.place)
  }

  effectsDone(deviceId: DeviceId): void {
    this.requireOpen()
    this.transact(() => this.sql.run("delete from effect where device_id = ?", deviceId))
  }

  /** Its devices, whatever became of them. */
  deviceIds(): readonly DeviceId[] {
    return this.isBlank() ? [] : deviceIdsOf(this.sql)
  }

  /** Of all its devices. */
  leafKeys(): readonly Uint8Array[] {
    if (this.isBlank()) return []
    return this.sql.rows<{ leaf_key: Uint8Array }>("select leaf_key from leaf_key").map((row) => row.leaf_key)
  }

  exportPage(userId: PrincipalId, from: Reached | null, room: Parameters<typeof pageOf>[2]): Page {
    if (this.isBlank()) return { records: [], bytes: 0, next: null }
    return pageOf(userParts(this.sql, userId), from, room)
  }

  /** @returns false where it is not being filled. */
  importRecords(of: Omit<Residence, "state">, userId: PrincipalId, records: readonly UserRecord[]): boolean {
    return this.importing(of, () => {
      for (const record of records) importUser(this.sql, record, this.nowMs())
      putSelf(this.sql, { userId, place: of.place, hasDevices: activeDevices(this.sql).length > 0 })
    })
  }

  protected override arrived(): void {
    const self = findSelf(this.sql)
    const version = newestList(this.sql)?.version
    if (self === undefined || version === undefined) return
    const { userId, place, hasDevices } = self
    const body: PlaceUser = { userId, place, version, hasDevices }
    this.outbox.add({ lane: placeLane, kind: placeLane, body })
  }

  protected override async deliver(entry: Entry): Promise<void> {
    if (isOfPlace(entry)) return this.env.PLACES.getByName(placeName(entry.body.place)).tellUser(entry.body)
    if (!isOfSessions(entry)) return super.deliver(entry)
    const change = this.#sayable(entry.body)
    if (change !== undefined) await this.effects().changeSessions(change)
  }

  /** By the newest list: it is signed by a key of this time, and of what was said meanwhile it says the same. */
  #sayable({ bind, ...change }: SessionChange): SessionChange | undefined {
    const list = newestList(this.sql)?.bytes ?? change.list
    const isBound = bind !== null && findDevice(this.sql, bind.deviceId)?.status === "ACTIVE"
    if (!isBound && change.revoked.length === 0) return undefined
    return { ...change, list, bind: isBound ? bind : null }
  }

  protected override newsFor({ sinceMs }: UserAsk): readonly Hint[] {
    const self = findSelf(this.sql)
    const list = newestList(this.sql)
    const isNew = allDevices(this.sql).some(({ changedAtMs }) => changedAtMs > sinceMs)
    if (self === undefined || list === undefined || !isNew) return []
    return [{ is: "deviceList", userId: self.userId, version: list.version }]
  }

  protected override timed(): readonly Timed[] {
    return [{ nextAtMs: () => nextEffectAt(this.sql), run: (nowMs) => this.#carryOut(nowMs) }]
  }

  async #carryOut(nowMs: number): Promise<void> {
    const self = findSelf(this.sql)
    if (self === undefined) return
    const { userId } = self
    await this.carryOut(dueEffects(this.sql, nowMs).map((deviceId) => ({ deviceId, userId })))
    // What is not done by now is done again.
    this.sql.run("update effect set due_at = ? where due_at <= ?", this.nowMs() + effectAfterMs, nowMs)
  }
}
