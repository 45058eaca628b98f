import type { AuditEvent } from "@signet/kernel/audit/event"
import type { AttachmentId, ClaimId, ConversationId, DeviceId, WelcomeId } from "@signet/kernel/ids"
import type { Inventory } from "@signet/kernel/messaging/key-package"
import type { MemberUsers } from "@signet/kernel/messaging/listening"
import type { KeyPackages, SeenConversation, Welcomes } from "@signet/kernel/messaging/ports"
import type { PushDecision, PushEndpoint } from "@signet/kernel/messaging/push"
import type { KeyPackageRecord, Place, WelcomeRecord } from "@signet/kernel/messaging/records"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { Timed } from "../alarm.ts"
import type { DeviceNotice } from "../conversation/notices.ts"
import type { Lister } from "../conversation/seen.ts"
import type { DurableEnv } from "../env.ts"
import {
  attachmentIds,
  type ClaimGiven,
  conversationalParts,
  type DeviceRecord,
  findPackage,
  importDevice,
  packageParts,
} from "../moving/device.ts"
import { type Page, pageOf, type Reached } from "../moving/pages.ts"
import type { Residence } from "../moving/residence.ts"
import { placeName } from "../names.ts"
import { StoredObject } from "../object.ts"
import type { Entry } from "../outbox.ts"
import { type Begun, beginClaim, type ClaimAsked, claimSteps, type Finished, finishClaim } from "./claims.ts"
import {
  applyNotice,
  conversationsById,
  deviceConversationSteps,
  freeAttachmentKey,
  groupOfKey,
  type Indexed,
  newestConversations,
  openConversations,
  takeAttachmentKey,
  takeGroupKey,
  withoutLeaf,
} from "./conversations.ts"
import { inventoryIn, keyPackageSteps, retire, type Taken, take, upload } from "./key-packages.ts"
import { nonceSteps, useNonce } from "./nonces.ts"
import { findOwner, ownerSteps, putOwner } from "./owner.ts"
import { deletePush, pushSteps, schedulePush, setPush, timedPushes } from "./pushes.ts"
import { type Seen, seeAll } from "./seeing.ts"
import { createDeviceStreams, type DeviceStreams } from "./streams.ts"
import { claimMs, nextSweepAtMs, sweep, sweepAfter } from "./sweep.ts"
import { consume, type Ended, findPending, listPending, voidAll, welcomeSteps } from "./welcomes.ts"

const endedKind = "welcomesEnded"
const isOfEnded = (entry: Entry): entry is Entry & { body: readonly WelcomeId[] } => entry.kind === endedKind

/** A device: its key packages, welcomes, claims and streams. The device's record is in its user's object. */
export abstract class DeviceObject extends StoredObject {
  readonly #streams: DeviceStreams

  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, {
      owner: ownerSteps,
      keyPackages: keyPackageSteps,
      claims: claimSteps,
      welcomes: welcomeSteps,
      nonces: nonceSteps,
      pushes: pushSteps,
      conversations: deviceConversationSteps,
    })
    this.#streams = createDeviceStreams({ ctx, env, user: () => this.user() })
  }

  /** Opens the socket of one of the device's streams. */
  override async fetch(request: Request): Promise<Response> {
    return this.#streams.open(request)
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    await this.#streams.said(socket, message)
  }

  /** True if the device may open one more stream of `most`. This object counts the streams of all locations. */
  admitStream(most: number): boolean {
    return this.#streams.admit(most, this.nowMs())
  }

  /** Sends hints to the device's streams. @returns True if there are any. */
  hear(hints: readonly Hint[]): boolean {
    return this.#streams.hear(hints)
  }

  /** The name of its user's object; undefined before the registration. */
  user(): string | undefined {
    return this.isBlank() ? undefined : findOwner(this.sql)
  }

  /** Assigns the device to this user permanently, unless it has one. @returns The device's user. */
  belong(user: string): string {
    this.transact(() => putOwner(this.sql, user))
    return this.user() ?? user
  }

  /** True if the device is of that place; also true before the registration. */
  protected override isOf(place: Place): boolean {
    return this.user()?.startsWith(`${placeName(place)}/`) ?? true
  }

  upload(packages: readonly KeyPackageRecord[], nowMs: number): Awaited<ReturnType<KeyPackages["upload"]>> {
    return this.write(() => {
      sweepAfter(this.sql, Math.min(...packages.map(({ notAfterMs }) => notAfterMs)))
      return upload(this.sql, packages, nowMs)
    })
  }

  inventory(nowMs: number): Inventory {
    return inventoryIn(this.sql, nowMs)
  }

  retire(refs: readonly Uint8Array[] | "all"): void {
    this.write(() => retire(this.sql, refs))
  }

  /** Takes a package for a claim; a repeated call for the same claim takes the same one. */
  take(of: { readonly claimId: ClaimId; readonly requesterDeviceId: DeviceId }, nowMs: number): Taken {
    return this.write(() => {
      sweepAfter(this.sql, nowMs + claimMs)
      return take(this.sql, of, nowMs)
    })
  }

  /** Begins a claim that this device makes. */
  beginClaim(asked: ClaimAsked, nowMs: number): Begun {
    return this.write(() => {
      sweepAfter(this.sql, nowMs + claimMs)
      return beginClaim(this.sql, asked, nowMs)
    })
  }

  /** Finishes a claim with the taken packages; undefined if it was not begun. */
  finishClaim(
    of: { readonly id: ClaimId; readonly requesterDeviceId: DeviceId },
    packages: readonly KeyPackageRecord[],
    { audit, nowMs }: { readonly audit: AuditEvent; readonly nowMs: number },
  ): Finished | undefined {
    return this.write(() => {
      const finished = finishClaim(this.sql, of, packages, nowMs)
      if (finished?.isFirst) this.audit([audit])
      return finished
    })
  }

  listPending(nowMs: number, page: Parameters<Welcomes["listPending"]>[2]): readonly WelcomeRecord[] {
    return this.isBlank() ? [] : listPending(this.sql, nowMs, page)
  }

  findPending(conversationId: ConversationId): WelcomeRecord | undefined {
    return this.isBlank() ? undefined : findPending(this.sql, conversationId)
  }

  consume(
    id: WelcomeId,
    by: Parameters<Welcomes["consume"]>[1],
    nowMs: number,
    audit: AuditEvent,
  ): Awaited<ReturnType<Welcomes["consume"]>> {
    return this.write(() => {
      const done = consume(this.sql, id, by, nowMs)
      if (done.is === "consumed") {
        this.audit([audit])
        this.#ended([done.welcome])
      }
      return done.is === "consumed" || done.is === "again" ? done.welcome : done.is
    })
  }

  voidAll(): void {
    if (!this.isBlank()) this.write(() => this.#ended(voidAll(this.sql)))
  }

  /** From a conversation's outbox: the membership, and the welcome that came with it. Idempotent. */
  applyNotice(notice: DeviceNotice, welcome: WelcomeRecord | undefined): void {
    // A late welcome may be one that the device has erased since.
    const isInTime = welcome !== undefined && this.nowMs() < welcome.expiresAtMs
    this.transact(() => {
      if (isInTime) sweepAfter(this.sql, welcome.expiresAtMs)
      applyNotice(this.sql, notice, isInTime ? welcome : undefined)
    })
    if (!isInTime) return
    const { deviceId, id, conversationId } = welcome
    this.hear([{ is: "welcome", deviceId, welcomeId: id, conversationId }])
  }

  /** The conversations in which the device has a leaf, as notices reported them, newest first. */
  newestConversations(page: { readonly size: number; readonly before: Indexed | null }): readonly Indexed[] {
    return this.isBlank() ? [] : newestConversations(this.sql, page)
  }

  /** As `newestConversations`, by id. */
  conversationsById(page: { readonly size: number; readonly after: ConversationId | null }): readonly Indexed[] {
    return this.isBlank() ? [] : conversationsById(this.sql, page)
  }

  /** Those of these conversations in which the device has no leaf. */
  withoutLeaf(ids: readonly ConversationId[]): readonly ConversationId[] {
    return this.isBlank() ? ids : withoutLeaf(this.sql, ids)
  }

  /** The views of these conversations: see `seeing.ts`. */
  listed(of: Lister, ids: readonly ConversationId[]): Promise<readonly Seen<SeenConversation>[]> {
    return seeAll(ids, (id) => this.env.CONVERSATIONS.getByName(id).listed(of))
  }

  /** As `listed`, for the users of these conversations. */
  memberUsers(of: Lister, ids: readonly ConversationId[]): Promise<readonly Seen<MemberUsers>[]> {
    return seeAll(ids, (id) => this.env.CONVERSATIONS.getByName(id).memberUsers(of))
  }

  /** The device's conversations that are not closed. */
  openConversations(): readonly ConversationId[] {
    return this.isBlank() ? [] : openConversations(this.sql)
  }

  /** The group that a call of the device with this key creates or created. */
  groupOfKey(key: Uint8Array, requestHash: Uint8Array): ConversationId | "mismatch" | undefined {
    return this.isBlank() ? undefined : groupOfKey(this.sql, key, requestHash)
  }

  /** Assigns the key to the group, unless it is in use. @returns The key's group. */
  takeGroupKey(key: Uint8Array, requestHash: Uint8Array, id: ConversationId): ConversationId | "mismatch" {
    return this.write(() => takeGroupKey(this.sql, key, requestHash, id))
  }

  /** Assigns the key to the attachment, unless it is in use. @returns The key's attachment. */
  takeAttachmentKey(key: Uint8Array, id: AttachmentId): AttachmentId {
    return this.write(() => takeAttachmentKey(this.sql, key, id))
  }

  /** From an attachment's outbox: it was deleted. Idempotent. */
  freeAttachmentKey(key: Uint8Array, id: AttachmentId): void {
    this.transact(() => freeAttachmentKey(this.sql, key, id))
  }

  /** @returns False for a replay: the nonce was used before. */
  useNonce(nonce: Uint8Array, expiresAtMs: number): boolean {
    return this.transact(() => {
      sweepAfter(this.sql, expiresAtMs)
      return useNonce(this.sql, nonce, expiresAtMs)
    })
  }

  setPush(endpoint: Omit<PushEndpoint, "tries">, nowMs: number, audit: AuditEvent): void {
    this.write(() => {
      setPush(this.sql, endpoint, nowMs)
      this.audit([audit])
    })
  }

  deletePush(registrationId: Uint8Array | null, audit: AuditEvent | null): void {
    if (this.isBlank()) return
    this.write(() => {
      if (deletePush(this.sql, registrationId) && audit !== null) this.audit([audit])
    })
  }

  /** @param random From 0 to 1, exclusive. */
  schedulePush(nowMs: number, random: number): void {
    if (!this.isBlank() && this.isOpen()) this.transact(() => schedulePush(this.sql, nowMs, random))
  }

  /** Sends a push. The Worker's program provides it; without it, pushes are disabled. */
  protected async push(_endpoint: PushEndpoint): Promise<PushDecision> {
    return { is: "done" }
  }

  /** True if the endpoint may get pushes. The Worker's program provides it; without it, pushes are disabled. */
  protected async keepsPush(_endpoint: PushEndpoint): Promise<boolean> {
    return false
  }

  /**
   * @param part The records that claims refer to, or those that refer to conversations: each has its place in the
   *   export's order.
   */
  exportPage(
    place: Place,
    part: "packages" | "conversational",
    deviceId: DeviceId,
    from: Reached | null,
    room: Parameters<typeof pageOf>[2],
  ): Page {
    if (this.isBlank() || !this.isOf(place)) return { records: [], bytes: 0, next: null }
    return pageOf((part === "packages" ? packageParts : conversationalParts)(this.sql, deviceId), from, room)
  }

  attachmentIds(place: Place, after: AttachmentId | null, limit: number): readonly AttachmentId[] {
    return this.isBlank() || !this.isOf(place) ? [] : attachmentIds(this.sql, after, limit)
  }

  findPackage(place: Place, ref: Uint8Array): KeyPackageRecord | undefined {
    return this.isBlank() || !this.isOf(place) ? undefined : findPackage(this.sql, ref)
  }

  /**
   * @param user The permanent owner. @returns False when the object is another user's, or is not receiving this
   *   transfer.
   */
  importRecords(of: Omit<Residence, "state">, user: string | null, records: readonly (DeviceRecord | ClaimGiven)[]) {
    return this.importing(of, () => {
      if (user !== null) putOwner(this.sql, user)
      for (const record of records) importDevice(this.sql, record)
    })
  }

  /** Assigns the key to the attachment, at a place that receives a transfer. */
  importAttachmentKey(of: Omit<Residence, "state">, key: Uint8Array, id: AttachmentId): boolean {
    return this.importing(of, () => {
      takeAttachmentKey(this.sql, key, id)
    })
  }

  protected override arrived(): void {
    sweepAfter(this.sql, this.nowMs())
  }

  /** Requires the transaction that ends these welcomes: a conversation keeps a tree while a welcome needs it. */
  #ended(welcomes: readonly Ended[]): void {
    const ids = Map.groupBy(welcomes, ({ conversationId }) => conversationId)
    for (const [lane, gone] of ids) this.outbox.add({ lane, kind: endedKind, body: gone.map(({ id }) => id) })
  }

  protected override async deliver(entry: Entry): Promise<void> {
    if (!isOfEnded(entry)) return super.deliver(entry)
    await this.env.CONVERSATIONS.getByName(entry.lane).welcomesEnded(entry.body)
  }

  protected override timed(): readonly Timed[] {
    return [
      {
        nextAtMs: () => nextSweepAtMs(this.sql),
        run: (nowMs) => this.ctx.storage.transactionSync(() => sweep(this.sql, nowMs)),
      },
      ...timedPushes(this.sql, {
        transact: (work) => this.transact(work),
        push: (endpoint) => this.push(endpoint),
        keeps: (endpoint) => this.keepsPush(endpoint),
      }),
    ]
  }
}
