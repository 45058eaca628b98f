// History that reaches a device from elsewhere: what it must have afterwards.
import type { Messenger } from "../../clients/core/messaging/index.ts"
import type { Cast } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"

/** Texts of messages that a device had, by conversation and sequence number. */
export type Seen = ReadonlyMap<string, string>

const textOf = (plaintext: Uint8Array): string => new TextDecoder().decode(plaintext)

async function messagesOf({ service }: Cast, messenger: Messenger) {
  const found: { id: string; seq: bigint; text: string; isImported: boolean }[] = []
  for (const id of service.conversations.all.keys()) {
    for (const entry of await messenger.timeline(id, { limit: 10_000 })) {
      if (entry.is !== "message") continue
      found.push({ id, seq: entry.seq, text: textOf(entry.plaintext), isImported: entry.imported !== undefined })
    }
  }
  return found
}

export async function seenBy(cast: Cast, messenger: Messenger): Promise<Seen> {
  const all = await messagesOf(cast, messenger)
  return new Map(all.map(({ id, seq, text }) => [`${id} ${seq}`, text]))
}

/**
 * Each seen message is shown with its text. A device that was a member before a message reads it from the log, if at all.
 */
export async function lacksOf(cast: Cast, { name, messenger }: SimulatedDevice, seen: Seen): Promise<string[]> {
  if (messenger === undefined) return []
  const found: string[] = []
  const shown = new Map<string, string>()
  for (const { id, seq, text, isImported } of await messagesOf(cast, messenger)) {
    const place = `${id} ${seq}`
    shown.set(place, text)
    if (isImported && seen.has(place) && seen.get(place) !== text) found.push(`${name} imports "${text}" for ${place}`)
  }
  const logs = [...cast.service.conversations.all.values()]
  for (const [place, text] of seen) {
    const [id = "", seq = "0"] = place.split(" ")
    const spans = logs.find(({ conversation }) => conversation.id === id)?.spans ?? []
    const isFromLog = spans.some((one) => one.deviceId === messenger.deviceId && one.fromSeq < BigInt(seq))
    if (!shown.has(place) && !isFromLog) found.push(`${name} has not "${text}" of the moved history`)
  }
  return found
}
