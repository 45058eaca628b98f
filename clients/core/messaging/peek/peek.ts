// Reads ahead of the stored state, for a notification: a service worker or push extension shows a message before the app
// has processed it. It works on a value and stores nothing, so the app derives the same keys afterwards.
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import {
  type Envelope,
  Envelope_Kind,
  type Conversation as ServiceConversation,
} from "@signet/proto/messaging/v1/records"
import type { Context, ReadConversation } from "../context.ts"
import type { DraftPart } from "../conversation/event.ts"
import { named } from "../effects/conversation-rows.ts"
import { type Loaded, load } from "../effects/load.ts"
import type { TimelineEntry } from "../events.ts"
import type { MessengerOptions } from "../messenger.ts"
import { wipeState } from "../mls.ts"
import { openParts, type Primitives } from "../open.ts"
import { applyNext } from "../receiving/apply.ts"
import { openDraft } from "../receiving/draft.ts"
import { outboxIn } from "../sending/outbox-rows.ts"
import type { MessagingSession } from "../session.ts"
import { deviceSpace } from "../store/store.ts"
import { readingTransport, readOnlyBox, readOnlyStore } from "./read-only.ts"

export interface PeekOptions
  extends Pick<MessengerOptions, "messaging" | "transport" | "store" | "secretBox" | "clock" | "random"> {
  /** The token is not renewed: a read-ahead must not race the app's session. */
  readonly session: Omit<MessagingSession, "renewToken">
}

/** A message of another user that the app has not processed. */
export interface Preview {
  /** `cnv_…` */
  readonly conversationId: string
  readonly entry: Extract<TimelineEntry, { readonly is: "message" | "attachment" }>
}

export type Peeked =
  | {
      readonly is: "previews"
      /** In log order within each conversation. Empty: nothing to show, or a new conversation. */
      readonly previews: readonly Preview[]
      /** True if a limit ended the read-ahead. */
      readonly hasMore: boolean
    }
  /** Show "new messages" without a preview: something is unusual, and the app decides about it. */
  | { readonly is: "newMessages" }

export const peekLimits = {
  envelopes: 200,
  commits: 8,
  ms: 2_000,
  /** Sealed rows of one group, in bytes. A larger group is left to the app. */
  stateBytes: 524_288,
  /** Envelopes of one peek, in bytes. */
  envelopeBytes: 2_097_152,
  /** Envelopes of one page. */
  page: 20,
  /** Conversations of one page. */
  conversationPage: 100,
  /** Pages of conversations. A user has at most 5,000. */
  conversationPages: 60,
  /** Attempts to read a conversation while the app writes to it. */
  attempts: 3,
}

export type PeekLimits = typeof peekLimits

/** Ends a read-ahead without a preview. */
class Unusual extends Error {}

interface Budget {
  readonly limits: PeekLimits
  envelopes: number
  commits: number
  bytes: number
  /** Milliseconds that are left. */
  leftMs(): number
}

/** Never rejects. The store is neither written nor closed. */
export async function peekWith(
  options: PeekOptions,
  primitives: Primitives,
  limits: PeekLimits = peekLimits,
): Promise<Peeked> {
  const { clock, session } = options
  const untilMs = clock.nowMs() + limits.ms
  const { envelopes, commits, envelopeBytes: bytes } = limits
  const budget: Budget = { limits, envelopes, commits, bytes, leftMs: () => untilMs - clock.nowMs() }
  const given: MessengerOptions = {
    ...options,
    store: readOnlyStore(options.store),
    transport: readingTransport(options.transport),
    secretBox: readOnlyBox(options.secretBox),
    session: { ...session, renewToken: () => session.accessToken() },
    platform: "",
  }
  let stop = () => {}
  const late = new Promise<Peeked>((resolve) => {
    stop = clock.after(limits.ms, () => resolve({ is: "newMessages" }))
  })
  try {
    // Whatever fails: a notification without a preview is right, and the app reports the cause.
    const whole = peekAll(given, primitives, budget).catch((): Peeked => ({ is: "newMessages" }))
    return await Promise.race([whole, late])
  } finally {
    stop()
  }
}

async function peekAll(options: MessengerOptions, primitives: Primitives, budget: Budget): Promise<Peeked> {
  const { context, events } = await openParts(options, primitives)
  try {
    const unread = new Set(await context.store.spaces())
    unread.delete(deviceSpace)
    const previews: Preview[] = []
    const { conversationPage: pageSize, conversationPages } = budget.limits
    let pageToken = ""
    // One page at a time, and each conversation once: the service may list without an end.
    for (let page = 0; page < conversationPages; page++) {
      const timeoutMs = Math.max(1, budget.leftMs())
      const found = await context.calls.conversations.listConversations({ pageToken, pageSize }, { timeoutMs })
      for (const one of found.conversations) {
        if (!unread.delete(one.id)) continue
        previews.push(...(await peekOne(context, one, budget)))
        if (isSpent(budget)) return { is: "previews", previews, hasMore: true }
      }
      if (found.nextPageToken === "") return { is: "previews", previews, hasMore: false }
      pageToken = found.nextPageToken
    }
    return { is: "previews", previews, hasMore: true }
  } finally {
    events.close()
    await context.wipeAll()
  }
}

const isSpent = ({ envelopes, commits, bytes, leftMs }: Budget): boolean =>
  envelopes <= 0 || commits <= 0 || bytes <= 0 || leftMs() <= 0

/** The previews of one conversation. The app may write meanwhile: then its newer state is read. @throws Unusual */
async function peekOne(context: Context, shown: ServiceConversation, budget: Budget): Promise<readonly Preview[]> {
  for (let attempt = 1; ; attempt++) {
    const { generation, values } = await context.store.read(shown.id, [named.state, named.tree])
    const size = values.reduce((sum, row) => sum + (row?.length ?? 0), 0)
    if (size > budget.limits.stateBytes) throw new Unusual()
    try {
      const loaded = await load(context, shown.id)
      return await readAhead(context, shown, loaded, budget)
    } catch (error) {
      const now = await context.store.read(shown.id, [])
      if (now.generation === generation || attempt === budget.limits.attempts || isSpent(budget)) throw error
    }
  }
}

/** Applies the log after the stored position to a copy of the state, and wipes the copy. */
async function readAhead(
  context: Context,
  { id, headSeq }: ServiceConversation,
  { stored }: Loaded,
  budget: Budget,
): Promise<readonly Preview[]> {
  const { record, local, staged } = stored
  // The app, which may use more memory, compares a rejected envelope with the stored ones.
  const draft = { ...openDraft({ ...context, id }, stored), ownTail: async () => [] }
  const wipes: (() => void)[] = []
  const wipeConsumed = () => {
    for (const wipe of wipes.splice(0)) wipe()
  }
  try {
    if (record?.status !== Status.ACTIVE || local === undefined || headSeq <= local.processedSeq) return []
    const conversation: ReadConversation = { ...context, id }
    const outbox = await outboxIn(context, id, stored)
    const previews: Preview[] = []
    const performPart = async (part: DraftPart) => {
      if (part.do === "wipe") wipes.push(part.wipe)
      if (part.do === "entry") previews.push(...previewOf(context, id, part.entry))
      if (part.do === "seeKeys" && (await draft.keys.see(part.before, part.group, part.at)).length > 0)
        throw new Unusual()
    }
    let afterSeq = local.processedSeq
    while (afterSeq < headSeq && !isSpent(budget)) {
      const envelopes = await pageAfter(context, id, afterSeq, budget)
      if (envelopes.length === 0) return previews
      for (const envelope of envelopes) {
        if (isSpent(budget)) return previews
        const isOwn = envelope.senderDeviceId === context.device.id
        const facts = { source: "log", hasFreshKeys: false, hasAdvanced: draft.stored !== stored } as const
        const arrival = { ...facts, envelope, isOwn, isNextInLog: true }
        const ended = await applyNext(conversation, draft, outbox, arrival, performPart)
        const { record: now, local: next } = draft.stored
        // A failed check, a removal, a reset, a rollback: the app decides what it means.
        if (ended !== undefined || now?.status !== Status.ACTIVE || next?.processedSeq !== envelope.seq)
          throw new Unusual()
        wipeConsumed()
        budget.envelopes -= 1
        budget.bytes -= envelope.message.length
        if (envelope.kind === Envelope_Kind.COMMIT) budget.commits -= 1
        afterSeq = envelope.seq
      }
    }
    return previews
  } finally {
    wipeConsumed()
    if (local !== undefined) wipeState(local.group)
    // The last envelope may have failed after the decision about it.
    if (draft.stored.local !== undefined) wipeState(draft.stored.local.group)
    staged?.nextState.fill(0)
  }
}

async function pageAfter(
  context: Context,
  conversationId: string,
  afterSeq: bigint,
  budget: Budget,
): Promise<Envelope[]> {
  const limit = Math.min(budget.limits.page, budget.envelopes)
  const timeoutMs = Math.max(1, budget.leftMs())
  const asked = { conversationId, afterSeq, limit, readAhead: true }
  const page = await context.calls.conversations.listMessages(asked, { timeoutMs })
  return page.envelopes
}

/** @throws Unusual for an entry that the app must show itself. */
function previewOf({ owner, blocks }: Context, conversationId: string, entry: TimelineEntry): readonly Preview[] {
  if (entry.is === "unreadable" || entry.is === "newKeys") throw new Unusual()
  if (entry.is !== "message" && entry.is !== "attachment") return []
  const { userId } = entry.from
  return userId === owner.userId || blocks.userIds.includes(userId) ? [] : [{ conversationId, entry }]
}
