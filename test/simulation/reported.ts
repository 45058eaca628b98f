// The entries that a process reported to its app, compared with the stored timeline: each once, in order, none missing.
import type { MessengerEvent, TimelineEntry } from "../../clients/core/messaging/index.ts"

export interface ReportLog {
  /** By conversation, in the order of the events. */
  readonly reported: ReadonlyMap<string, readonly TimelineEntry[]>
  hear(event: MessengerEvent): void
}

export function createReportLog(): ReportLog {
  const reported = new Map<string, TimelineEntry[]>()
  return {
    reported,
    hear(event) {
      if (event.is !== "entry") return
      const { conversationId, entry } = event
      reported.set(conversationId, [...(reported.get(conversationId) ?? []), entry])
    },
  }
}

/**
 * Describes the differences between reported and stored entries.
 *
 * @param isOver True if the process has ended: entries stored after its last report are not expected.
 */
export function reportFaults(
  { reported }: ReportLog,
  id: string,
  stored: readonly TimelineEntry[],
  isOver: boolean,
): string[] {
  const entries = reported.get(id) ?? []
  const [first] = entries
  const last = entries.at(-1)
  if (first === undefined || last === undefined) return []
  const found = entries.flatMap(({ seq }, i) => {
    const before = entries[i - 1]
    // These may have the sequence number of the entry that follows them.
    const isSame = seq === before?.seq && (before.is === "newKeys" || before.is === "gap" || before.is === "missing")
    return before !== undefined && seq <= before.seq && !isSame ? [`reports ${seq} after ${before.seq}`] : []
  })
  const texts = new Set(stored.map(textOf))
  for (const entry of entries)
    if (!texts.has(textOf(entry))) found.push(`reports ${entry.seq} with content that is not stored`)
  const heard = new Set(entries.map(textOf))
  // A gap is not reported: the status event says that the device joined again. Imported entries are reported as "lagged".
  const own = stored.filter(({ is, imported }) => is !== "gap" && imported === undefined)
  const due = own.filter(({ seq }) => first.seq < seq && (!isOver || seq < last.seq))
  for (const entry of due) if (!heard.has(textOf(entry))) found.push(`does not report ${entry.seq}`)
  return found
}

const textOf = (entry: TimelineEntry): string =>
  JSON.stringify(entry, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))
