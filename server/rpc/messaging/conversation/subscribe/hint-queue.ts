import type { Hint } from "@signet/kernel/messaging/wakeups"

/** What a stream is told: a hint, or that its time for a heartbeat has come. */
export type Notice = Hint | { readonly is: "heartbeat" }

/** Hints that wait for one reader. */
export interface HintQueue {
  /** Takes the notice, or joins it with one that waits and says the same. False when there is no room left. */
  push(notice: Notice): boolean
  /** The oldest; waits for one. Undefined once the queue is closed. */
  next(): Promise<Notice | undefined>
  /** Forgets what waits. */
  close(): void
  readonly size: number
}

export const mostHints = 256

/** Of one kind and object the newest is enough: whoever gets it reads. So a reader that is slow costs a few bytes. */
export function createHintQueue(most = mostHints): HintQueue {
  const waiting = new Map<string, Notice>()
  let isClosed = false
  let wake: (() => void) | undefined

  function stir(): void {
    wake?.()
    wake = undefined
  }

  return {
    push(notice) {
      if (isClosed) return true
      const name = nameOf(notice)
      if (!waiting.has(name) && waiting.size >= most) return false
      waiting.set(name, newer(waiting.get(name), notice))
      stir()
      return true
    },
    async next() {
      while (waiting.size === 0 && !isClosed) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const [first] = waiting
      if (first === undefined) return undefined
      waiting.delete(first[0])
      return first[1]
    },
    close() {
      isClosed = true
      waiting.clear()
      stir()
    },
    get size() {
      return waiting.size
    },
  }
}

function nameOf(notice: Notice): string {
  switch (notice.is) {
    case "envelopes":
      return `envelopes ${notice.conversationId}`
    case "welcome":
      return `welcome ${notice.welcomeId}`
    case "deviceList":
      return `deviceList ${notice.userId}`
    case "directive":
      return `directive ${notice.directiveId}`
    case "member":
      return `member ${notice.conversationId ?? ""}`
    default:
      return notice.is
  }
}

/** Hints may come in any order: the place that is told never goes back. */
function newer(waiting: Notice | undefined, notice: Notice): Notice {
  if (waiting?.is === "envelopes" && notice.is === "envelopes" && waiting.headSeq > notice.headSeq) return waiting
  if (waiting?.is === "deviceList" && notice.is === "deviceList" && waiting.version > notice.version) return waiting
  return notice
}
