// The connection of one stream: a socket to the object of its own device, which subscribes to other objects and
// forwards their hints. A broken or unanswered socket is reopened, and then every subscription is checked.
import type { ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { Hint, Interest } from "@signet/kernel/messaging/wakeups"
import type { Clock } from "@signet/kernel/ports"
import type { After } from "../../../rpc/messaging/timers.ts"
import { fromText, toText } from "../../../store/durable/plain.ts"
import type { StreamAsk, StreamMessage } from "../../../store/durable/stream-asks.ts"
import { createNews } from "./news.ts"

/** The used part of a socket. */
export interface Line {
  send(text: string): void
  close(): void
}

export interface StreamOptions {
  /** Opens a socket to the object of the device. Rejects when that fails for now. */
  readonly open: (deviceId: DeviceId, on: { text(text: string): void; closed(): void }) => Promise<Line>
  readonly clock: Clock
  readonly after: After
  /** How often every subscription is renewed, in milliseconds, which finds lost hints. 30,000 by default. */
  readonly askEveryMs?: number
  /** Called when the device's object asks whether the stream has a reader. */
  readonly onBeat?: (deviceId: DeviceId) => void
  /**
   * How often the socket is checked, in milliseconds: an object that loses its memory may lose its sockets silently,
   * while the platform still answers pings. 2,000 by default.
   */
  readonly pingEveryMs?: number
}

/** The most renewals per tick. Further due ones wait for the next tick; new subscriptions do not wait. */
const mostAsked = 128
/** The most subscriptions per message: the device's object makes that many calls for one answer. */
const mostInMessage = 32
/** The time limit of an answer, in milliseconds. */
const patienceMs = 15_000
const pauseMs = { first: 100, longest: 5_000 }
/** The number of unanswered requests after which the socket counts as broken. */
const mostUnanswered = 2
/** The maximum difference of clocks. */
const skewMs = 1_000

interface Target {
  readonly is: "conversation" | "user"
  /** Earlier events are known. */
  sinceMs: number
  askedAtMs: number
}

export function openStream(
  { open, clock, after, askEveryMs = 30_000, pingEveryMs = 2_000, onBeat = () => {} }: StreamOptions,
  first: Interest,
  listener: (hint: Hint) => void,
): { update(interest: Interest): void; close(): void } {
  const { deviceId } = first
  const tickMs = askEveryMs / 6
  const targets = new Map<string, Target>()
  const news = createNews()
  const asked = new Map<number, { readonly ids: readonly string[]; readonly atMs: number }>()
  let number = 0
  let line: Line | undefined
  let isClosed = false
  let failures = 0
  let openedAtMs = 0
  let isAgain = false
  let unanswered = 0
  let stopTick = () => {}
  let stopBeat = () => {}
  let stopPause = () => {}

  function hear(hints: readonly Hint[]): void {
    for (const hint of hints) if (!isClosed && news.take(hint)) listener(hint)
  }

  function listenTo(interest: Interest): void {
    const of = new Map<string, Target["is"]>()
    for (const id of interest.conversations.keys()) of.set(id, "conversation")
    for (const id of interest.userIds) of.set(id, "user")
    for (const id of [...targets.keys()]) if (!of.has(id)) targets.delete(id)
    const sinceMs = (interest.asOfMs ?? clock.nowMs()) - skewMs
    for (const [id, is] of of) {
      if (!targets.has(id)) targets.set(id, { is, sinceMs, askedAtMs: Number.NEGATIVE_INFINITY })
    }
    news.follow(interest.conversations)
  }

  /** Sends all new subscriptions, and some that are due for renewal. */
  function ask(): void {
    const nowMs = clock.nowMs()
    const due = [...targets].filter(([, { askedAtMs }]) => nowMs - askedAtMs >= askEveryMs)
    const fresh = due.filter(([, { askedAtMs }]) => askedAtMs === Number.NEGATIVE_INFINITY)
    const old = due.filter(([, { askedAtMs }]) => askedAtMs !== Number.NEGATIVE_INFINITY)
    old.sort(([, a], [, b]) => a.askedAtMs - b.askedAtMs)
    const chosen = [...fresh, ...old.slice(0, Math.max(0, mostAsked - fresh.length))]
    for (let i = 0; i < chosen.length; i += mostInMessage) send(chosen.slice(i, i + mostInMessage), nowMs)
  }

  function send(chosen: readonly (readonly [string, Target])[], nowMs: number): void {
    if (line === undefined) return
    number++
    const message: StreamAsk = {
      number,
      deviceId,
      conversations: chosen.flatMap(([id, { is, sinceMs }]) =>
        is === "conversation" ? [{ id: id as ConversationId, seq: news.placeOf(id as ConversationId), sinceMs }] : [],
      ),
      userIds: chosen.flatMap(([id, { is, sinceMs }]) => (is === "user" ? [{ id: id as PrincipalId, sinceMs }] : [])),
    }
    for (const [, target] of chosen) target.askedAtMs = nowMs
    asked.set(number, { ids: chosen.map(([id]) => id), atMs: nowMs })
    try {
      line.send(toText(message))
    } catch {
      lost()
    }
  }

  function onText(text: string): void {
    unanswered = 0
    const message = fromText<StreamMessage>(text)
    const question = message.asked === null ? undefined : asked.get(message.asked)
    if (message.asked !== null) asked.delete(message.asked)
    const unheard = new Set(message.unheard)
    for (const id of question?.ids ?? []) {
      const target = targets.get(id)
      if (target !== undefined && question !== undefined && !unheard.has(id)) target.sinceMs = question.atMs - skewMs
    }
    hear(message.hints)
    if (message.beat) onBeat(deviceId)
  }

  function tick(): void {
    const nowMs = clock.nowMs()
    if ([...asked.values()].some(({ atMs }) => nowMs - atMs > patienceMs)) lost()
    else {
      ask()
      if (line !== undefined) stopTick = after(tickMs, tick)
    }
  }

  function beat(): void {
    if (unanswered >= mostUnanswered) lost()
    else {
      unanswered++
      send([], clock.nowMs())
      if (line !== undefined) stopBeat = after(pingEveryMs, beat)
    }
  }

  async function connect(): Promise<void> {
    try {
      let isOver = false
      const opened = await open(deviceId, {
        text: (text) => {
          if (line === opened) onText(text)
        },
        closed: () => {
          isOver = true
          if (line === opened) lost()
        },
      })
      if (isClosed) return opened.close()
      if (isOver) return lost()
      line = opened
      openedAtMs = clock.nowMs()
      for (const target of targets.values()) target.askedAtMs = Number.NEGATIVE_INFINITY
      // Hints may have been lost while no socket was open.
      if (isAgain) hear([{ is: "member", deviceId }])
      isAgain = true
      unanswered = 0
      tick()
      beat()
    } catch {
      lost()
    }
  }

  /** Opens another socket, after a pause that grows with each failure. */
  function lost(): void {
    const last = line
    line = undefined
    // A socket that closes at once, as for a device with too many streams, does not reset the pause.
    if (last !== undefined && clock.nowMs() - openedAtMs >= pauseMs.longest) failures = 0
    asked.clear()
    stopTick()
    stopBeat()
    stopPause()
    last?.close()
    if (isClosed) return
    const ms = Math.min(pauseMs.longest, pauseMs.first * 2 ** failures++)
    stopPause = after(ms, () => void connect())
  }

  listenTo(first)
  void connect()
  return {
    update(interest) {
      listenTo(interest)
      ask()
    },
    close() {
      isClosed = true
      stopTick()
      stopBeat()
      stopPause()
      line?.close()
      line = undefined
    },
  }
}
