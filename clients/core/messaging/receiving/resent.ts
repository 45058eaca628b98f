import { equalBytes } from "@signet/canonical/bytes"
import { TimelineRecordSchema } from "@signet/proto/client/v1/records"
import { parseContent } from "../content.ts"
import type { ReadConversation } from "../context.ts"
import type { Person } from "../events.ts"
import { entryOf, keyOfSeq } from "../state/timeline.ts"

/** A message that its sender has sent again. */
interface Resent {
  readonly originalSeq: bigint
  readonly content: Uint8Array
  /** Key of its row in the table `resent`. */
  readonly key: string
}

export function resentContent(bytes: Uint8Array, { deviceId }: Person): Resent | undefined {
  const content = parseContent(bytes)
  if (content.is !== "resent") return undefined
  return { ...content, key: `${deviceId}:${keyOfSeq(content.originalSeq)}` }
}

/**
 * True if this device has read the message: the original, or another copy. Only the sender's own entry counts, because
 * another message may have the number.
 */
export async function isRead(
  { store, rows, id: space }: ReadConversation,
  { originalSeq, content, key }: Resent,
  { deviceId }: Person,
): Promise<boolean> {
  const place = { table: "timeline", key: keyOfSeq(originalSeq) } as const
  const [sealed, copy] = (await store.read(space, [place, { table: "resent", key }])).values
  if (copy !== undefined) return true
  if (sealed === undefined) return false
  const entry = entryOf(originalSeq, await rows.read({ space, ...place }, TimelineRecordSchema, sealed))
  const parsed = parseContent(content)
  if (entry.is === "message" && parsed.is === "text") {
    return entry.from.deviceId === deviceId && equalBytes(entry.plaintext, parsed.plaintext)
  }
  if (entry.is !== "attachment" || parsed.is !== "attachment" || entry.from.deviceId !== deviceId) return false
  return entry.fileName === parsed.manifest.fileName && BigInt(entry.size) === parsed.manifest.plaintextSize
}
