// What a process told its app as it happened, held against what is stored: each entry once, in order, and none left out.
import type { MessengerEvent, TimelineEntry } from "../../clients/core/messaging/index.ts"

export interface Ear {
  /** By conversation, as it was told. */
  readonly told: ReadonlyMap<string, readonly TimelineEntry[]>
  hear(event: MessengerEvent): void
}

export function createEar(): Ear {
  const told = new Map<string, TimelineEntry[]>()
  return {
    told,
    hear(event) {
      if (event.is !== "entry") return
      const { conversationId, entry } = event
      told.set(conversationId, [...(told.get(conversationId) ?? []), entry])
    },
  }
}

/**
 * What was told amiss, in words.
 *
 * @param isOver The process has ended: what is stored after the last that it told, it did not live to tell.
 */
export function toldAmiss({ told }: Ear, id: string, stored: readonly TimelineEntry[], isOver: boolean): string[] {
  const entries = told.get(id) ?? []
  const [first] = entries
  const last = entries.at(-1)
  if (first === undefined || last === undefined) return []
  const found = entries.flatMap(({ seq }, i) => {
    const before = entries[i - 1]
    // A gap and a warning of new keys may have the place of the entry that follows them.
    const isSame = (before?.is === "newKeys" || before?.is === "gap") && seq === before.seq
    return before !== undefined && seq <= before.seq && !isSame ? [`tells ${seq} after ${before.seq}`] : []
  })
  const texts = new Set(stored.map(textOf))
  for (const entry of entries) if (!texts.has(textOf(entry))) found.push(`tells of ${entry.seq} what is not stored`)
  const heard = new Set(entries.map(textOf))
  // Where a device comes in again is told by its status.
  const due = stored.filter(({ is, seq }) => is !== "gap" && first.seq < seq && (!isOver || seq < last.seq))
  for (const entry of due) if (!heard.has(textOf(entry))) found.push(`does not tell ${entry.seq}`)
  return found
}

const textOf = (entry: TimelineEntry): string =>
  JSON.stringify(entry, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value))
