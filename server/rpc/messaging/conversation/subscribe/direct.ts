// The events of a stream whose handler waits. They are written directly, so that they wake neither the handler nor the
// iterators around it.
import type { DirectWrite } from "../../../../serving/direct-write.ts"
import { type Listener, messageOf, type Needs, readEnvelopes, reported } from "./events.ts"
import type { createHintQueue, Notice } from "./hint-queue.ts"

interface Direct {
  /** Writes the event of a notice, if it needs no read and the handler waits. A stream that answers so is alive. */
  write(notice: Notice): boolean
  /** The same, and also for a hint whose envelopes are read first. The handler gets what cannot be written. */
  deliver(notice: Notice): boolean
}

export function createDirect(
  deps: Needs,
  listener: Listener,
  queue: ReturnType<typeof createHintQueue>,
  path: DirectWrite,
): Direct {
  const write = (notice: Notice): boolean => {
    const message = queue.isAwaited ? messageOf(listener, notice) : undefined
    if (message === undefined || !path.write(message)) return false
    if (notice.is === "envelopes") reported(listener, notice)
    return true
  }
  const read = async (hint: Extract<Notice, { is: "envelopes" }>) => {
    // Later notices wait, so that the order stays.
    queue.hold()
    let unwritten: Notice | undefined = hint
    try {
      const { message, headSeq } = await readEnvelopes(deps, listener, hint)
      if (!queue.isClosed && path.write(message)) {
        reported(listener, { conversationId: hint.conversationId, headSeq })
        unwritten = undefined
      }
    } catch {
      // The handler reads again, and reports what fails then.
    }
    queue.release(unwritten)
  }
  return {
    write,
    deliver(notice) {
      if (write(notice)) return true
      if (notice.is !== "envelopes" || !queue.isAwaited || !path.isOpen) return false
      void read(notice)
      return true
    },
  }
}
