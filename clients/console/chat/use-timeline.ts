import type { ConversationInfo, Messenger, OutboxEntry, TimelineEntry } from "@signet/client-web/messaging"
import { useEffect, useState } from "react"

/** How many sequence numbers are shown at first, and more with each step back. */
const step = 200n
const page = 500

export interface Written {
  readonly entries: readonly TimelineEntry[]
  /** Own messages that are stored here and not sent yet. */
  readonly waiting: readonly OutboxEntry[]
  /** Shows earlier entries; undefined if all are shown. */
  readonly showEarlier: (() => void) | undefined
}

/** Reads the newest part of a timeline, and what waits, after every event. */
export function useTimeline(messenger: Messenger, { id, processedSeq }: ConversationInfo, version: number): Written {
  const [read, setRead] = useState<Omit<Written, "showEarlier">>({ entries: [], waiting: [] })
  const [shown, setShown] = useState(step)
  const afterSeq = processedSeq > shown ? processedSeq - shown : 0n
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event, and an own message, read again.
  useEffect(() => {
    let isCurrent = true
    Promise.all([entriesAfter(messenger, id, afterSeq), messenger.outbox(id)]).then(
      ([entries, waiting]) => isCurrent && setRead({ entries, waiting }),
      () => {},
    )
    return () => {
      isCurrent = false
    }
  }, [messenger, id, version, afterSeq])
  return { ...read, showEarlier: afterSeq === 0n ? undefined : () => setShown((last) => last + step) }
}

async function entriesAfter(messenger: Messenger, id: string, afterSeq: bigint): Promise<TimelineEntry[]> {
  const entries: TimelineEntry[] = []
  for (let after = afterSeq; ; ) {
    const found = await messenger.timeline(id, { afterSeq: after, limit: page })
    entries.push(...found)
    const last = found.at(-1)
    if (last === undefined || found.length < page) return entries
    after = last.seq
  }
}
