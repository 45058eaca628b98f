import type { Hint } from "@signet/kernel/messaging/wakeups"

/** A hint for a stream, or the signal to send a heartbeat. */
export type Notice = Hint | { readonly is: "heartbeat" }

/** The pending hints of one reader. */
interface HintQueue {
  /** Adds the notice, or merges it with a pending one of the same object. False when the capacity is reached. */
  push(notice: Notice): boolean
  /** The oldest notice; waits for one. Undefined once the queue is closed. */
  next(): Promise<Notice | undefined>
  /** Discards the pending notices. */
  close(): void
  readonly size: number
}

const mostHints = 256

/**
 * Only the newest hint of each kind and object is kept, because the reader then reads the state. A slow reader costs a
 * few bytes.
 */
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

/** Hints may arrive in any order: the reported sequence number never decreases. */
function newer(waiting: Notice | undefined, notice: Notice): Notice {
  if (waiting?.is === "envelopes" && notice.is === "envelopes" && waiting.headSeq > notice.headSeq) return waiting
  if (waiting?.is === "deviceList" && notice.is === "deviceList" && waiting.version > notice.version) return waiting
  return notice
}
