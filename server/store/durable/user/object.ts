import type { AuditEvent } from "@signet/kernel/audit/event"
import type { ConversationId, DeviceId, PrincipalId, SessionId } from "@signet/kernel/ids"
import {
  type Archive,
  type ArchiveChange,
  type ArchiveDecision,
  completeBackup,
  decideArchive,
  isArchiveGone,
} from "@signet/kernel/messaging/archive"
import { type BlockChange, decideBlock, emptyBlockList } from "@signet/kernel/messaging/block"
import type { BlobStore, Blocks, DeviceChange } from "@signet/kernel/messaging/ports"
import type { BlockList, MessagingDevice, Place, SignedDeviceList } from "@signet/kernel/messaging/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { Timed } from "../alarm.ts"
import type { UserNotice } from "../conversation/notices.ts"
import type { Indexed } from "../device/conversations.ts"
import type { DurableEnv } from "../env.ts"
import { HintSourceObject } from "../hint-source.ts"
import { type Page, pageOf, type Reached } from "../moving/pages.ts"
import type { Residence } from "../moving/residence.ts"
import { deviceIdsOf, importUser, type UserRecord, userParts } from "../moving/user.ts"
import { placeName } from "../names.ts"
import type { Entry } from "../outbox.ts"
import type { UserAsk } from "../stream-asks.ts"
import { archiveSteps, dropArchive, eraseChunks, findArchives, nextArchiveAt, putArchives } from "./archives.ts"
import { blockSteps, findBlocks, putBlocks } from "./blocks.ts"
import {
  askedById,
  countConversations,
  newestAsked,
  newestJoined,
  tellUserConversation,
  userConversationSteps,
} from "./conversations.ts"
import { isPlaceReport, reportArrival, reportChange } from "./place-report.ts"
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
import { currentChange, isSessionChange, sessionEntry, sessionLane } from "./session-change.ts"

/**
 * The call that revokes applies the effects. After this many milliseconds the alarm applies the remaining ones, and
 * retries.
 */
const effectAfterMs = 5_000

export interface Revoked {
  readonly deviceId: DeviceId
  readonly userId: PrincipalId
}

/** The result of a change. "prepare" asks the caller to assign these devices and their keys first. */
export type Changed =
  | { readonly is: "done" | "lost" }
  | { readonly is: "prepare"; readonly devices: readonly DeviceId[] }

/** The devices of a user at a place, the device lists, and the list of blocked users. */
export abstract class UserObject extends HintSourceObject<UserAsk> {
  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, {
      user: userSteps,
      conversations: userConversationSteps,
      blocks: blockSteps,
      archives: archiveSteps,
    })
  }

  /** Applies the effects of these revocations; `effectsDone` reports each one. */
  protected abstract carryOut(revoked: readonly Revoked[]): Promise<void>

  /** Revokes all devices and deletes all archives at the place of a user who was permanently removed. Idempotent. */
  protected abstract endDevices(userId: PrincipalId, place: Place): Promise<void>

  /** The blob store of the archives' chunks. */
  protected abstract blobs(): Pick<BlobStore, "delete">

  find(id: DeviceId): MessagingDevice | undefined {
    this.requireReadable()
    return this.isBlank() ? undefined : findDevice(this.sql, id)
  }

  /** The device, if this leaf key is or was its own. */
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

  /** For a claim by that user: the active devices, and whether this user blocks that one. */
  target(requester: PrincipalId): { readonly devices: readonly MessagingDevice[]; readonly isBlocking: boolean } {
    return { devices: this.active(), isBlocking: this.isBlocking(requester) }
  }

  lists(afterVersion: bigint, limit: number): readonly SignedDeviceList[] {
    this.requireReadable()
    return this.isBlank() ? [] : listsAfter(this.sql, afterVersion, limit)
  }

  /**
   * Writes the change, if it follows the newest list.
   *
   * @param isPrepared Each requested device holds the name of its leaf key, and knows its user.
   */
  async change(change: DeviceChange, isPrepared: boolean): Promise<Changed> {
    const { sql } = this
    const done = this.write<Changed>(() => {
      const newest = newestList(sql)
      if ((newest?.version ?? 0n) + 1n !== change.list.version) return { is: "lost" }
      if (change.devices.some(({ id, leafKey }) => hasLostKey(sql, id, leafKey))) return { is: "lost" }
      const asked = change.devices.filter(({ id, leafKey }) => !hasKey(sql, id, leafKey)).map(({ id }) => id)
      if (asked.length > 0 && !isPrepared) return { is: "prepare", devices: asked }
      this.#write(change)
      return { is: "done" }
    })
    if (done.is === "done") this.sendHints([{ is: "deviceList", userId: change.userId, version: change.list.version }])
    // A client that registers refreshes its session next, and the token must name the device.
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
    reportChange(sql, this.outbox, { userId, place, version: list.version })
    if (bind !== null || revoked.length > 0) {
      this.outbox.add(sessionEntry({ list: list.bytes, bind, revoked, nowMs }))
    }
    this.audit(audit)
  }

  async bindSession(sessionId: SessionId, deviceId: DeviceId, audit: AuditEvent): Promise<void> {
    this.transact(() => {
      const list = newestList(this.sql)?.bytes
      if (list === undefined) throw new Error("a device without a list")
      // The device was revoked meanwhile: no list permits to bind the session.
      if (findDevice(this.sql, deviceId)?.status !== "ACTIVE") return
      this.outbox.add(sessionEntry({ list, bind: { sessionId, deviceId }, revoked: [], nowMs: this.nowMs() }))
      this.audit([audit])
    })
    await this.outbox.drain([sessionLane])
  }

  /** From a conversation's outbox: the membership of the user. Idempotent. */
  applyNotice(notice: UserNotice): void {
    this.transact(() => tellUserConversation(this.sql, notice))
  }

  /** The conversations that were created with the user, as notices reported them, newest first. */
  newestAsked(page: { readonly size: number; readonly before: Indexed | null }): readonly Indexed[] {
    return this.isBlank() ? [] : newestAsked(this.sql, page)
  }

  /** As `newestAsked`, for those in which the user has a leaf. */
  newestJoined(page: { readonly size: number; readonly before: Indexed | null }): readonly Indexed[] {
    return this.isBlank() ? [] : newestJoined(this.sql, page)
  }

  /** As `newestAsked`, by id. */
  askedById(page: { readonly size: number; readonly after: ConversationId | null }): readonly Indexed[] {
    return this.isBlank() ? [] : askedById(this.sql, page)
  }

  /** The number of conversations that the user is in or that were created with it, counted up to `most`. */
  countConversations(most: number): number {
    return this.isBlank() ? 0 : countConversations(this.sql, most)
  }

  /** The users whom the user blocks. */
  blocks(): BlockList {
    this.requireReadable()
    return (this.isBlank() ? undefined : findBlocks(this.sql)) ?? emptyBlockList
  }

  /** True if the user blocks the other one. */
  isBlocking(userId: PrincipalId): boolean {
    return !this.isBlank() && findBlocks(this.sql)?.userIds.includes(userId) === true
  }

  changeBlocks(change: BlockChange, audit: AuditEvent): Awaited<ReturnType<Blocks["change"]>> {
    return this.write(() => {
      const before = findBlocks(this.sql) ?? emptyBlockList
      const decision = decideBlock(before, change)
      if (decision.is === "full") return decision
      if (decision.is === "there") return { is: "there", list: before }
      putBlocks(this.sql, decision.list)
      this.audit([audit])
      return { is: "done", list: decision.list }
    })
  }

  archives(): readonly Archive[] {
    this.requireReadable()
    return this.isBlank() ? [] : findArchives(this.sql)
  }

  /** The complete backup, also while the place is not served here. */
  backup(): Archive | undefined {
    return this.isBlank() ? undefined : completeBackup(findArchives(this.sql))
  }

  changeArchives(change: ArchiveChange, nowMs: number, audit: AuditEvent | null): ArchiveDecision {
    return this.write(() => {
      const decision = decideArchive(findArchives(this.sql), change, nowMs)
      if (decision.is !== "change") return decision
      putArchives(this.sql, decision.archives)
      if (audit !== null) this.audit([audit])
      return decision
    })
  }

  forgetArchive(id: string, nowMs: number): void {
    if (!this.isBlank()) this.transact(() => this.#dropArchives([id], nowMs))
  }

  /** Requires a transaction. */
  #dropArchives(ids: readonly string[], nowMs: number): void {
    for (const id of ids) dropArchive(this.sql, id, nowMs)
    const self = findSelf(this.sql)
    const version = newestList(this.sql)?.version
    if (self !== undefined && version !== undefined) reportChange(this.sql, this.outbox, { ...self, version })
  }

  /** Erases all chunks, before `eraseAll` erases the records. */
  async eraseArchives(): Promise<void> {
    if (!this.isBlank()) await eraseChunks(this.blobs(), findArchives(this.sql))
  }

  /**
   * Another device wants a key whose name this device took. Reports whether the device has the key. If not, the device
   * can never get it: a change in progress is rejected.
   */
  settleKey(deviceId: DeviceId, leafKey: Uint8Array): "held" | "given up" {
    return this.transact(() => {
      if (hasKey(this.sql, deviceId, leafKey)) return "held"
      loseKey(this.sql, deviceId, leafKey)
      return "given up"
    })
  }

  /** From its place: the user was permanently removed. */
  async end(): Promise<void> {
    const self = this.isBlank() ? undefined : findSelf(this.sql)
    if (self?.hasDevices) await this.endDevices(self.userId, self.place)
  }

  effectsDone(deviceId: DeviceId): void {
    this.write(() => this.sql.run("delete from effect where device_id = ?", deviceId))
  }

  /** All of its devices, in any status. */
  deviceIds(): readonly DeviceId[] {
    return this.isBlank() ? [] : deviceIdsOf(this.sql)
  }

  /** The leaf keys of all of its devices. */
  leafKeys(): readonly Uint8Array[] {
    if (this.isBlank()) return []
    return this.sql.rows<{ leaf_key: Uint8Array }>("select leaf_key from leaf_key").map((row) => row.leaf_key)
  }

  exportPage(userId: PrincipalId, from: Reached | null, room: Parameters<typeof pageOf>[2]): Page {
    if (this.isBlank()) return { records: [], bytes: 0, next: null }
    return pageOf(userParts(this.sql, userId), from, room)
  }

  /** @returns False when the object is not receiving this transfer. */
  importRecords(of: Omit<Residence, "state">, userId: PrincipalId, records: readonly UserRecord[]): boolean {
    return this.importing(of, () => {
      for (const record of records) importUser(this.sql, record, this.nowMs())
      const hasDevices = activeDevices(this.sql).length > 0 || findArchives(this.sql).length > 0
      putSelf(this.sql, { userId, place: of.place, hasDevices })
    })
  }

  protected override arrived(): void {
    reportArrival(this.sql, this.outbox)
  }

  protected override async deliver(entry: Entry): Promise<void> {
    if (isPlaceReport(entry)) return this.env.PLACES.getByName(placeName(entry.body.place)).tellUser(entry.body)
    if (!isSessionChange(entry)) return super.deliver(entry)
    const change = currentChange(this.sql, entry.body)
    if (change !== undefined) await this.effects().changeSessions(change)
  }

  protected override newsFor({ deviceId, sinceMs }: UserAsk): readonly Hint[] {
    const blocks = findBlocks(this.sql)
    // Only the user's own devices learn that the list exists.
    const isTheirs = blocks !== undefined && findDevice(this.sql, deviceId) !== undefined
    const own: readonly Hint[] = isTheirs ? [{ is: "blockList", deviceId, version: blocks.version }] : []
    return [...own, ...this.#listNews(sinceMs)]
  }

  #listNews(sinceMs: number): readonly Hint[] {
    const self = findSelf(this.sql)
    const list = newestList(this.sql)
    const isNew = allDevices(this.sql).some(({ changedAtMs }) => changedAtMs > sinceMs)
    if (self === undefined || list === undefined || !isNew) return []
    return [{ is: "deviceList", userId: self.userId, version: list.version }]
  }

  protected override timed(): readonly Timed[] {
    return [
      { nextAtMs: () => nextEffectAt(this.sql), run: (nowMs) => this.#carryOut(nowMs) },
      { nextAtMs: () => nextArchiveAt(this.sql), run: (nowMs) => this.#eraseGone(nowMs) },
    ]
  }

  async #eraseGone(nowMs: number): Promise<void> {
    const gone = findArchives(this.sql).filter((one) => isArchiveGone(one, nowMs))
    await eraseChunks(this.blobs(), gone)
    this.transact(() =>
      this.#dropArchives(
        gone.map(({ id }) => id),
        nowMs,
      ),
    )
  }

  async #carryOut(nowMs: number): Promise<void> {
    const self = findSelf(this.sql)
    if (self === undefined) return
    const { userId } = self
    await this.carryOut(dueEffects(this.sql, nowMs).map((deviceId) => ({ deviceId, userId })))
    // Effects that are not done by now are retried.
    this.sql.run("update effect set due_at = ? where due_at <= ?", this.nowMs() + effectAfterMs, nowMs)
  }
}
