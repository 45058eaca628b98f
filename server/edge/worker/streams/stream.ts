// One stream's ear: a socket to the object of its own device, which asks the objects that matter to tell it, and hands on
// what they tell. A socket that breaks, or at whose other end nobody is any more, is opened again, and then everything is
// looked at again.
import type { ConversationId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import type { Hint, Interest } from "@signet/kernel/messaging/wakeups"
import type { Clock } from "@signet/kernel/ports"
import type { After } from "../../../rpc/messaging/timers.ts"
import { fromText, toText } from "../../../store/durable/plain.ts"
import type { StreamAsk, Told } from "../../../store/durable/stream-asks.ts"
import { createNews } from "./news.ts"

/** As much of a socket as is used. */
export interface Line {
  send(text: string): void
  close(): void
}

export interface StreamOptions {
  /** Opens a socket to the object of the device. Rejects when that cannot be done now. */
  readonly open: (deviceId: DeviceId, on: { text(text: string): void; closed(): void }) => Promise<Line>
  readonly clock: Clock
  readonly after: After
  /** Every object is asked so often: that finds what was lost on its way. 30,000 ms. */
  readonly askEveryMs?: number
  /** The object of the device wants to know whether anybody reads. */
  readonly onBeat?: (deviceId: DeviceId) => void
  /**
   * It is asked so often whether anybody is there: an object that loses its memory may lose its sockets without a word,
   * and then the platform answers its pings all the same. 2,000 ms.
   */
  readonly pingEveryMs?: number
}

/** At a tick. More that are due wait for the next one; new ones do not wait. */
const mostAsked = 128
/** In one message: the object asks as many others for it, and its answer is of one call. */
const mostInMessage = 32
/** An answer takes no longer, or nobody is there. */
const patienceMs = 15_000
const pauseMs = { first: 100, longest: 5_000 }
/** So many times without an answer, and nobody is there. */
const mostUnanswered = 2
/** Clocks differ by so much. */
const skewMs = 1_000

interface Target {
  readonly is: "conversation" | "user"
  /** What happened before it is known. */
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

  /** Asks those that were never asked, and some of those that were not for a while. */
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
    const told = fromText<Told>(text)
    const question = told.asked === null ? undefined : asked.get(told.asked)
    if (told.asked !== null) asked.delete(told.asked)
    const unheard = new Set(told.unheard)
    for (const id of question?.ids ?? []) {
      const target = targets.get(id)
      if (target !== undefined && question !== undefined && !unheard.has(id)) target.sinceMs = question.atMs - skewMs
    }
    hear(told.hints)
    if (told.beat) onBeat(deviceId)
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
      // While nobody listened anything may have been said.
      if (isAgain) hear([{ is: "member", deviceId }])
      isAgain = true
      unanswered = 0
      tick()
      if (line !== undefined) beat()
    } catch {
      lost()
    }
  }

  /** Opens another one, after a while that grows as long as nobody answers. */
  function lost(): void {
    const last = line
    line = undefined
    // One that is closed as soon as it is open, as where a device has too many, is no reason to hurry.
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
