import type { AuditEvent } from "@signet/kernel/audit/event"
import type { DeviceId, PrincipalId, WelcomeId } from "@signet/kernel/ids"
import type { ReceiptSigner } from "@signet/kernel/messaging/authority"
import type { LogProgress, MemberUsers } from "@signet/kernel/messaging/listening"
import type { AppendOutcome, Conversations, SeenConversation } from "@signet/kernel/messaging/ports"
import type { Conversation, Cursor, Envelope, Place } from "@signet/kernel/messaging/records"
import { leafOf } from "@signet/kernel/messaging/roster"
import type { VerifiedAppend } from "@signet/kernel/messaging/verified"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { Timed } from "../alarm.ts"
import type { DurableEnv } from "../env.ts"
import { HintSourceObject } from "../hint-source.ts"
import {
  arrivedDeliveries,
  type ConversationRecord,
  conversationParts,
  importConversation,
} from "../moving/conversation.ts"
import { type Page, pageOf, type Reached } from "../moving/pages.ts"
import type { Residence } from "../moving/residence.ts"
import { placeName } from "../names.ts"
import type { Entry } from "../outbox.ts"
import type { ConversationAsk } from "../stream-asks.ts"
import { appendMessage } from "./append.ts"
import type { Change } from "./change.ts"
import { cursorOf, markSeen, onlineSince, raiseCursor } from "./cursors.ts"
import { deliver } from "./deliver.ts"
import { createHead, type Head, type Kept } from "./head.ts"
import { spanOf } from "./leaves.ts"
import { type Answered, commitOf, envelopesAfter, findAnswered } from "./log.ts"
import { conversationNews, refusalFor } from "./news.ts"
import { closedDeliveries, createdDeliveries, type Delivery, isDelivery, laneOf, putDeliveries } from "./notices.ts"
import { revoke } from "./revocation.ts"
import { conversationSteps } from "./schema.ts"
import { isListed, type Lister, logProgressOf, memberUsersOf, withoutKnown } from "./seen.ts"
import { nextSweepAtMs, sweepExpired } from "./sweep.ts"
import { groupInfoOf, treeChunk } from "./trees.ts"
import { endWelcomes, wereUsed } from "./welcomes.ts"

interface Snapshot {
  readonly conversation: Conversation
  readonly revision: number
}

const envelopesPerSweep = 1_000

/** One conversation. All of its decisions are made in its object, one after the other. */
export abstract class ConversationObject extends HintSourceObject<ConversationAsk> {
  readonly #head: Head
  /** Outbox lanes that a call delivers and awaits, so that the delivery itself does no follow-up. */
  readonly #awaited = new Set<string>()

  constructor(ctx: DurableObjectState, env: DurableEnv) {
    super(ctx, env, { conversation: conversationSteps })
    this.#head = createHead(this.sql)
  }

  /** Signs receipts synchronously: nothing is awaited between reading the head and writing. */
  protected abstract receiptSigner(): ReceiptSigner

  /** Creates the conversation, unless it exists. */
  async create(
    conversation: Conversation,
    audit: AuditEvent,
  ): Promise<{ is: "created" | "there"; conversation: Conversation }> {
    return this.#change<{ is: "created" | "there"; conversation: Conversation }>("user", () => {
      const there = this.#head.get()
      if (there !== undefined) return { answer: { is: "there", conversation: there.conversation }, deliveries: [] }
      this.#head.insert(conversation)
      this.audit([audit])
      return { answer: { is: "created", conversation }, deliveries: createdDeliveries(conversation) }
    })
  }

  /** @param knownReceipt The receipt hash of the roster that the caller has: the answer omits an equal roster. */
  find(knownReceipt: Uint8Array | null = null): Conversation | undefined {
    const kept = this.#kept()
    return kept && withoutKnown(kept.conversation, knownReceipt)
  }

  open(
    deviceId: DeviceId,
    idempotencyKey: Uint8Array | null,
    knownReceipt: Uint8Array | null = null,
  ): (SeenConversation & { answered: Answered | undefined }) | undefined {
    const kept = this.#kept()
    if (kept === undefined) return undefined
    return {
      conversation: withoutKnown(kept.conversation, knownReceipt),
      cursor: cursorOf(this.sql, deviceId),
      answered: idempotencyKey === null ? undefined : findAnswered(this.sql, deviceId, idempotencyKey),
    }
  }

  /** The conversation without its roster; undefined if the device does not list it. */
  listed(of: Lister): SeenConversation | undefined {
    const kept = this.#kept()
    if (kept === undefined || !isListed(kept.conversation, of)) return undefined
    return { conversation: { ...kept.conversation, roster: [] }, cursor: cursorOf(this.sql, of.deviceId) }
  }

  memberUsers(of: Lister): MemberUsers | undefined {
    const kept = this.#kept()
    if (kept === undefined || !isListed(kept.conversation, of)) return undefined
    return memberUsersOf(this.sql, kept.conversation, of.deviceId)
  }

  progress(deviceId: DeviceId): (LogProgress & Pick<Conversation, "createdAtMs">) | undefined {
    const kept = this.#kept()
    return (
      kept && { ...logProgressOf(this.sql, kept.conversation, deviceId), createdAtMs: kept.conversation.createdAtMs }
    )
  }

  async append(append: VerifiedAppend, nowMs: number, audit: readonly AuditEvent[]): Promise<AppendOutcome> {
    const outcome = await this.#append(append, nowMs, audit)
    if (outcome.is !== "appended") return outcome
    this.sendHints([{ is: "envelopes", conversationId: append.conversationId, headSeq: outcome.answer.seq }])
    return outcome
  }

  async #append(append: VerifiedAppend, nowMs: number, audit: readonly AuditEvent[]): Promise<AppendOutcome> {
    const of = { sql: this.sql, head: this.#head, sign: this.receiptSigner() }
    if (append.commit === null && audit.length === 0) {
      // One row, which needs no transaction, alarm or notice.
      this.requireOpen()
      return appendMessage(of, append, nowMs).outcome
    }
    return this.#change("device", () => {
      const { outcome, deliveries } = appendMessage(of, append, nowMs)
      if (outcome.is === "appended") this.audit(audit)
      return { answer: outcome, deliveries }
    })
  }

  commitOf(epoch: bigint): Envelope | undefined {
    return this.#kept() && commitOf(this.sql, epoch)
  }

  messages(
    afterSeq: bigint,
    page: Parameters<Conversations["messages"]>[2],
  ): { envelopes: readonly Envelope[]; headSeq: bigint; firstSeq: bigint } | undefined {
    const kept = this.#kept()
    if (kept === undefined) return undefined
    const { headSeq, firstSeq } = kept.conversation
    return { envelopes: envelopesAfter(this.sql, afterSeq, page), headSeq, firstSeq }
  }

  span(deviceId: DeviceId, afterSeq: bigint): Awaited<ReturnType<Conversations["membershipSpan"]>> {
    return this.#kept() && spanOf(this.sql, deviceId, afterSeq)
  }

  ack(deviceId: DeviceId, cursor: Cursor): Cursor | "beyond" {
    const kept = this.#kept()
    if (kept === undefined) return "beyond"
    this.requireOpen()
    const { headSeq, epoch } = kept.conversation
    if (cursor.processedSeq > headSeq || cursor.processedEpoch > epoch) return "beyond"
    return raiseCursor(this.sql, deviceId, cursor)
  }

  touch(deviceId: DeviceId, nowMs: number): void {
    const kept = this.#kept()
    // A read at a held place is not an error, although its time is not recorded.
    if (kept === undefined || !this.isOpen() || leafOf(kept.conversation.roster, deviceId) === undefined) return
    markSeen(this.sql, deviceId, nowMs)
  }

  /** The devices with a leaf, except those of one user. */
  devicesOfOthers(exceptUserId: PrincipalId): readonly DeviceId[] {
    const { roster = [] } = this.#kept()?.conversation ?? {}
    return roster.filter(({ userId }) => userId !== exceptUserId).map(({ deviceId }) => deviceId)
  }

  online(sinceMs: number): Awaited<ReturnType<Conversations["online"]>> {
    return this.#kept() === undefined ? [] : onlineSince(this.sql, sinceMs)
  }

  groupInfo(): Awaited<ReturnType<Conversations["groupInfo"]>> {
    const kept = this.#kept()
    const info = kept && groupInfoOf(this.sql)
    const { epoch, state } = kept?.conversation ?? {}
    return info && { ...info, treeHash: (info.epoch === epoch && state?.treeHash) || null }
  }

  tree(hash: Uint8Array, offset: number): Awaited<ReturnType<Conversations["tree"]>> {
    return this.#kept() && treeChunk(this.sql, hash, offset)
  }

  /** The state for a decision elsewhere. */
  snapshot(): Snapshot | undefined {
    const kept = this.#kept()
    return kept && { conversation: kept.conversation, revision: kept.revision }
  }

  /**
   * Writes a decision that was made on a snapshot, unless the conversation has changed. Messages do not count as a
   * change: no such decision depends on them.
   *
   * @returns The conversation afterwards, without its roster, which equals the snapshot's.
   */
  async swap(revision: number, change: Change, audit: readonly AuditEvent[]): Promise<Conversation | "lost"> {
    return this.#change<Conversation | "lost">("device", () => {
      const kept = this.#head.get()
      if (kept?.revision !== revision) return { answer: "lost", deliveries: [] }
      const deliveries = this.#write(kept, change, audit)
      return { answer: { ...kept.conversation, ...change, roster: [] }, deliveries }
    })
  }

  /** True if one of these packages has added its owner before. */
  wereUsed(keyPackageRefs: readonly Uint8Array[]): boolean {
    return this.#kept() !== undefined && wereUsed(this.sql, keyPackageRefs)
  }

  /** Devices consumed these welcomes, or they are void: trees that only they needed may be deleted. Idempotent. */
  welcomesEnded(ids: readonly WelcomeId[]): void {
    if (this.#kept() === undefined) return
    this.transact(() => endWelcomes(this.sql, ids, this.nowMs()))
  }

  /** Deletes expired records. @returns The number of deleted envelopes. */
  sweep(nowMs: number, limit = envelopesPerSweep): number {
    if (this.#kept() === undefined || !this.isOpen()) return 0
    return this.#safely(() => this.transact(() => sweepExpired(this.sql, this.#head, nowMs, limit)))
  }

  /** The conversation's place; undefined if it was never created. */
  place(): Place | undefined {
    const conversation = this.#kept()?.conversation
    return conversation && { appId: conversation.appId, tenantId: conversation.tenantId }
  }

  protected override isOf(place: Place): boolean {
    const own = this.place()
    return own === undefined || placeName(own) === placeName(place)
  }

  exportPage(place: Place, from: Reached | null, room: Parameters<typeof pageOf>[2]): Page {
    const kept = this.#kept()
    if (kept === undefined || !this.isOf(place)) return { records: [], bytes: 0, next: null }
    return pageOf(conversationParts(this.sql, kept.conversation), from, room)
  }

  /** @returns False when the object is another place's, or is not receiving this transfer. */
  importRecords(of: Omit<Residence, "state">, records: readonly ConversationRecord[]): boolean {
    const isDone = this.importing(of, () => {
      for (const record of records) importConversation(this.sql, record)
    })
    this.#head.forget()
    return isDone
  }

  protected override arrived(): void {
    const kept = this.#head.get()
    if (kept !== undefined) putDeliveries(this.outbox, arrivedDeliveries(kept.conversation, kept.revision))
  }

  protected override forgetAll(): void {
    this.#head.forget()
  }

  protected override refusing(ask: ConversationAsk): readonly Hint[] | undefined {
    const conversation = this.#kept()?.conversation
    return conversation === undefined ? [] : refusalFor(conversation, ask)
  }

  protected override newsFor(ask: ConversationAsk): readonly Hint[] {
    const kept = this.#kept()
    return kept === undefined ? [] : conversationNews(kept.conversation, ask)
  }

  protected override timed(): readonly Timed[] {
    return [{ nextAtMs: () => nextSweepAtMs(this.sql, this.#head), run: (nowMs) => void this.sweep(nowMs) }]
  }

  protected override async deliver(entry: Entry): Promise<void> {
    if (!isDelivery(entry)) return super.deliver(entry)
    const conversation = this.#kept()?.conversation
    if (conversation === undefined) throw new Error("the conversation does not exist")
    const isLate = !this.#awaited.has(entry.lane)
    await deliver({ env: this.env, sql: this.sql, conversation, isLate, revoke: (of) => this.#revoke(of) }, entry.body)
  }

  #revoke(of: { readonly deviceId: DeviceId; readonly userId: PrincipalId }): void {
    this.#safely(() =>
      this.transact(() => {
        const kept = this.#head.get()
        if (kept === undefined) return
        const revoked = revoke(kept.conversation, of, this.nowMs())
        if (revoked === undefined) return
        putDeliveries(this.outbox, this.#write(kept, revoked.change, revoked.audit))
        this.sendHints(revoked.hints)
      }),
    )
  }

  /** Requires a transaction. */
  #write(kept: Kept, change: Change, audit: readonly AuditEvent[]): readonly Delivery[] {
    const conversation = { ...kept.conversation, ...change }
    const revision = kept.revision + 1
    this.#head.write({ ...kept, conversation, revision })
    this.audit(audit)
    return conversation.status === "CLOSED" ? closedDeliveries(conversation, revision) : []
  }

  #kept() {
    return this.isBlank() ? undefined : this.#head.get()
  }

  /**
   * Runs one transaction, then tries once to deliver the notices to the objects that the next call may read. A failed
   * delivery is not the caller's error. The other notices are delivered in the background.
   */
  async #change<Answer>(
    asked: "user" | "device",
    work: () => { readonly answer: Answer; readonly deliveries: readonly Delivery[] },
  ): Promise<Answer> {
    const { answer, lanes } = this.#safely(() =>
      this.write(() => {
        const { answer, deliveries } = work()
        putDeliveries(this.outbox, deliveries)
        return { answer, lanes: deliveries.filter(({ kind }) => kind === asked).map(laneOf) }
      }),
    )
    for (const lane of lanes) this.#awaited.add(lane)
    try {
      await this.outbox.drain(lanes)
    } finally {
      for (const lane of lanes) this.#awaited.delete(lane)
    }
    return answer
  }

  /** After a rollback the cached head is discarded. */
  #safely<T>(work: () => T): T {
    try {
      return work()
    } catch (fault) {
      this.#head.forget()
      throw fault
    }
  }
}
