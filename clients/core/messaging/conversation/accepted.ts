// Own messages that the service accepted, and whose positions this device never reads. Pure.
import type { AttachmentManifest } from "@signet/proto/client/v1/attachment"
import { MessagingError } from "../errors.ts"
import type { TimelineEntry } from "../events.ts"
import { removeOutboxItem } from "../sending/outbox-rows.ts"
import type { DraftPart } from "./event.ts"

/** An own message at its position in the log. */
export interface Accepted {
  readonly outboxId: string
  readonly entry: TimelineEntry
  readonly manifest: AttachmentManifest | undefined
}

/**
 * Shows accepted messages at their positions, between gaps, and ends their delivery: encrypted again for a new group,
 * they would be sent twice.
 *
 * @param read `afterSeq`: the last position that was read. `beforeSeq`: the first position after the gap, if it is known.
 * @throws MessagingError ANSWER_REFUSED for a position outside the gap: its entry would replace another one.
 */
export function showAccepted(
  accepted: readonly Accepted[],
  read: { readonly afterSeq: bigint; readonly beforeSeq: bigint | undefined },
): { readonly effects: readonly DraftPart[]; readonly lastSeq: bigint } {
  const effects: DraftPart[] = []
  let lastSeq = read.afterSeq
  for (const { outboxId, entry, manifest } of accepted.toSorted((a, b) => (a.entry.seq < b.entry.seq ? -1 : 1))) {
    const { seq, atMs } = entry
    const isInGap = seq > lastSeq && (read.beforeSeq === undefined || seq < read.beforeSeq)
    if (!isInGap) throw new MessagingError("ANSWER_REFUSED", "the position of an own message is not in the unread log")
    if (seq > lastSeq + 1n) effects.push({ do: "storeEntry", entry: { seq, atMs, is: "gap", afterSeq: lastSeq } })
    effects.push({ do: "entry", entry })
    if (manifest !== undefined) effects.push({ do: "putManifest", seq, manifest })
    effects.push({ do: "changePending", change: removeOutboxItem(outboxId) })
    lastSeq = seq
  }
  return { effects, lastSeq }
}
