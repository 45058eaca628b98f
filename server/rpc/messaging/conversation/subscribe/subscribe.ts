// The stream of hints. A slow reader costs one bounded queue of small notices, and delays no other reader: the content
// of a hint is read when the reader takes it.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { ConversationId, PrincipalId } from "@signet/kernel/ids"
import type { LogProgress, ReadTail } from "@signet/kernel/messaging/listening"
import type { EndingOf } from "@signet/kernel/messaging/stream-owner"
import type { Hint, Interest } from "@signet/kernel/messaging/wakeups"
import { userOf } from "../../../../serving/call/call.ts"
import { deviceOf } from "../../../../serving/call/calling-device.ts"
import { kDirectWrite } from "../../../../serving/direct-write.ts"
import { endOf } from "../../../../serving/interceptors/deadline.ts"
import type { Attendance } from "../../attendance.ts"
import { counted } from "../../counted.ts"
import type { MessagingDeps } from "../../deps.ts"
import type { After, Beats } from "../../timers.ts"
import { createDirect } from "./direct.ts"
import { beatAt, type Event, eventOf, type Listener } from "./events.ts"
import { createHintQueue, type Notice } from "./hint-queue.ts"
import { memberUsersOf } from "./interest.ts"
import type { Rosters } from "./rosters.ts"
import type { Streams } from "./streams.ts"

interface SubscribeDeps extends MessagingDeps {
  readonly streams: Streams
  readonly after: After
  readonly beats: Beats
  readonly endingOf: EndingOf
  readonly attendance: Attendance
  readonly rosters: Rosters
  readonly readTail: ReadTail
}

/** After this many heartbeats that the reader did not take, the stream ends. */
const mostUntaken = 3

/**
 * Streams events to a device.
 *
 * @throws Refused LIMIT_EXCEEDED, RATE_LIMITED; later TOKEN_EXPIRED, SESSION_REVOKED, DEVICE_REVOKED, and UNAVAILABLE
 * for a reader that does not keep up.
 */
export async function* subscribe(
  deps: SubscribeDeps,
  context: HandlerContext,
  { includeEnvelopes }: { readonly includeEnvelopes: boolean },
): AsyncGenerator<{ event: Event }> {
  const device = deviceOf(context)
  const { sessionId, expiresAtMs } = userOf(context)
  const queue = createHintQueue()
  const release = await deps.streams.open(device.id, () => queue.push(beatAt(deps.clock.nowMs())))
  const closing: (() => void)[] = [release, () => queue.close()]
  let ended: Refused | undefined
  let untaken = 0
  const end = (refused: Refused) => {
    ended ??= refused
    for (const close of closing.splice(0)) close()
  }
  const listener: Listener = { deviceId: device.id, includeEnvelopes, sentSeqs: new Map() }
  const direct = createDirect(deps, listener, queue, context.values.get(kDirectWrite))
  const push = (notice: Notice) => {
    if (!direct.deliver(notice) && !queue.push(notice)) end(slow())
  }
  try {
    const onGone = () => end(endOf(context.signal))
    context.signal.addEventListener("abort", onGone)
    closing.push(() => context.signal.removeEventListener("abort", onGone))
    if (context.signal.aborted) onGone()
    closing.push(deps.after(Math.max(0, expiresAtMs - deps.clock.nowMs()), () => end(new Refused("TOKEN_EXPIRED"))))

    await counted(deps, context, "messaging_stream", { device: device.id })
    const memberUsers = new Map<ConversationId, readonly PrincipalId[]>()
    const waiting = new Set<ConversationId>()
    // A copy: a published interest must not change.
    const interest = (asOfMs = deps.clock.nowMs()): Interest => ({
      asOfMs,
      deviceId: device.id,
      userIds: [...new Set([device.userId, ...[...memberUsers.values()].flat()])],
      conversations: new Map([...memberUsers.keys()].map((id) => [id, listener.sentSeqs.get(id) ?? 0n])),
    })
    let current = interest()
    // From here on changes of membership arrive as hints; `look` reads the earlier ones.
    const subscription = deps.wakeups.subscribe(current, (hint) => {
      if (isFor(hint, current)) push(hint)
    })
    closing.push(subscription.close)
    /** Follows the device's current conversations, or one of them. @returns The progress of the new ones. */
    const look = async (only: ConversationId | null): Promise<readonly LogProgress[]> => {
      const asOfMs = deps.clock.nowMs()
      const found = await memberUsersOf(deps, device, only)
      const joined = [...found.keys()].filter((id) => !memberUsers.has(id))
      for (const id of only === null ? [...memberUsers.keys()] : [only]) {
        if (found.has(id)) continue
        for (const known of [memberUsers, listener.sentSeqs, waiting]) known.delete(id)
      }
      for (const [id, users] of found) memberUsers.set(id, deps.rosters.shared(users))
      for (const id of joined) listener.sentSeqs.set(id, found.get(id)?.headSeq ?? 0n)
      current = interest(asOfMs)
      subscription.update(current)
      const read = joined.flatMap((id) => found.get(id)?.progress ?? [])
      const unread = joined.filter((id) => found.get(id)?.progress === undefined)
      // Read after the subscription: an append in between arrives as a hint.
      const rest = unread.length === 0 ? [] : await deps.store.conversations.logProgress(device.id, unread)
      const logProgress = [...read.reverse(), ...rest]
      for (const { conversationId, headSeq, hasDirectives } of logProgress) {
        listener.sentSeqs.set(conversationId, headSeq)
        if (hasDirectives) waiting.add(conversationId)
      }
      return logProgress
    }
    const logProgress = await look(null)
    const beat = () => {
      const notice = beatAt(deps.clock.nowMs())
      if (!direct.write(notice)) {
        untaken++
        if (untaken > mostUntaken || !queue.push(notice)) return end(slow())
      }
      void watch(deps, waiting, { deviceId: device.id, sessionId }).then((refused) => {
        if (refused !== undefined) end(refused)
      })
    }
    closing.push(deps.beats(beat))
    // The stream may have ended during its setup: close what was set up since.
    if (ended !== undefined) end(ended)

    yield* opening(deps, listener, logProgress)
    const { version } = await deps.store.blocks.ofUser(device.userId, device)
    if (version > 0n) yield* events(deps, listener, { is: "blockList", deviceId: device.id, version })
    for (;;) {
      const notice = await queue.next()
      if (notice === undefined || ended !== undefined) throw ended ?? new Refused("CANCELED")
      untaken = 0
      if (notice.is === "revoked") throw new Refused("DEVICE_REVOKED")
      if (notice.is === "member") {
        yield* ahead(deps, listener, await look(notice.conversationId ?? null))
        continue
      }
      if (notice.is === "directive") waiting.add(notice.conversationId)
      const event = await eventOf(deps, listener, notice)
      if (event !== undefined) yield { event }
    }
  } finally {
    end(new Refused("CANCELED"))
  }
}

const slow = () => new Refused("UNAVAILABLE", { message: "the reader is too slow: open the stream again" })

/** The initial state: unread logs, a pending Welcome, a shortage of key packages. */
async function* opening(
  deps: SubscribeDeps,
  listener: Listener,
  logProgress: readonly LogProgress[],
): AsyncGenerator<{ event: Event }> {
  const nowMs = deps.clock.nowMs()
  yield* ahead(deps, listener, logProgress)
  const { deviceId } = listener
  const [welcome] = await deps.store.welcomes.listPending(deviceId, nowMs, { size: 1, maxBytes: 1, after: null })
  if (welcome !== undefined) {
    const { id, conversationId } = welcome
    yield* events(deps, listener, { is: "welcome", deviceId, welcomeId: id, conversationId })
  }
  const { isLow } = await deps.store.keyPackages.inventory(deviceId, nowMs)
  if (isLow) yield* events(deps, listener, { is: "keyPackageLow", deviceId })
}

/** Reports the logs of these conversations that the device has not processed. */
async function* ahead(
  deps: SubscribeDeps,
  listener: Listener,
  logProgress: readonly LogProgress[],
): AsyncGenerator<{ event: Event }> {
  for (const { conversationId, headSeq, processedSeq } of logProgress) {
    if (headSeq <= processedSeq) continue
    listener.sentSeqs.set(conversationId, processedSeq)
    yield* events(deps, listener, { is: "envelopes", conversationId, headSeq })
  }
}

async function* events(
  deps: SubscribeDeps,
  listener: Listener,
  notice: Parameters<typeof eventOf>[2],
): AsyncGenerator<{ event: Event }> {
  const event = await eventOf(deps, listener, notice)
  if (event !== undefined) yield { event }
}

/** Records the device's attendance, and ends the stream with its session or device. */
async function watch(
  deps: SubscribeDeps,
  waiting: ReadonlySet<ConversationId>,
  of: Parameters<EndingOf>[0],
): Promise<Refused | undefined> {
  try {
    const refused = await deps.endingOf(of)
    if (refused !== undefined) return refused
    for (const id of waiting) await deps.attendance.touch(id, of.deviceId)
    return undefined
  } catch {
    // The state is unknown, so the stream ends.
    return new Refused("UNAVAILABLE")
  }
}

/** False for hints that a wakeup delivered to the wrong reader. */
function isFor(hint: Hint, { deviceId, userIds, conversations }: Interest): boolean {
  switch (hint.is) {
    case "envelopes":
    case "directive":
      return conversations.has(hint.conversationId)
    case "deviceList":
      return userIds.includes(hint.userId)
    default:
      return hint.deviceId === deviceId
  }
}
