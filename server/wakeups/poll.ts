// Finds lost hints: a process may end between its commit and its notification, and a connection may be lost.
import type { Hint, MissedHints } from "@signet/kernel/messaging/wakeups"
import type { Hub } from "./hub.ts"

interface PollOptions {
  readonly hub: Hub
  readonly missed: MissedHints
  /** True while hints of other processes arrive. Otherwise only the poll finds them. */
  isListening(): boolean
  onError(error: unknown): void
}

interface Poll {
  /** Delivers newer heads of logs. */
  heads(): Promise<void>
  /** Delivers all other missed hints. */
  rest(): Promise<void>
  /** Records a hint that arrived over the bus, so that the poll does not repeat it. */
  record(hint: Hint): void
  start(): void
  stop(): Promise<void>
}

const headsEveryMs = { listening: 1_500, alone: 200 }
const restEveryMs = { listening: 15_000, alone: 1_500 }

export function createPoll({ hub, missed, isListening, onError }: PollOptions): Poll {
  let marks = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let underWay: Promise<void> = Promise.resolve()
  let restAt = 0

  const heads = async () => {
    const known = hub.heads()
    if (known.size === 0) return
    for (const { conversationId, headSeq } of await missed.heads(known)) {
      hub.deliver({ is: "envelopes", conversationId, headSeq })
    }
  }
  const rest = async () => {
    if (hub.subscriptions.size === 0) {
      marks.clear()
      return
    }
    const found = await missed.rest(hub.followed())
    const before = marks
    marks = new Map(found.map(({ hint, mark }) => [keyOf(hint), mark]))
    for (const { hint, mark } of found) if (isNews(hint, mark, before.get(keyOf(hint)))) hub.deliver(hint)
  }
  const round = async () => {
    try {
      await heads()
      if (performance.now() >= restAt) {
        restAt = performance.now() + (isListening() ? restEveryMs.listening : restEveryMs.alone)
        await rest()
      }
    } catch (error) {
      onError(error)
    }
    plan()
  }
  const plan = () => {
    if (isStopped) return
    const ms = isListening() ? headsEveryMs.listening : headsEveryMs.alone
    timer = setTimeout(() => {
      underWay = round()
    }, ms).unref()
  }

  return {
    heads,
    rest,
    record(hint) {
      if (hint.is === "deviceList" || hint.is === "member") marks.delete(keyOf(hint))
      if (hint.is === "welcome" || hint.is === "directive" || hint.is === "revoked") marks.set(keyOf(hint), "")
    },
    start: plan,
    stop() {
      isStopped = true
      clearTimeout(timer)
      return underWay
    },
  }
}

/** True if the hint is new. A list or membership that the poll sees for the first time is only its starting point. */
function isNews(hint: Hint, mark: string, before: string | undefined): boolean {
  if (hint.is === "deviceList" || hint.is === "member") return before !== undefined && before !== mark
  return before === undefined
}

function keyOf(hint: Hint): string {
  switch (hint.is) {
    case "welcome":
      return `welcome ${hint.welcomeId}`
    case "directive":
      return `directive ${hint.directiveId}`
    case "deviceList":
      return `deviceList ${hint.userId}`
    case "envelopes":
      return `envelopes ${hint.conversationId}`
    default:
      return `${hint.is} ${hint.deviceId}`
  }
}
