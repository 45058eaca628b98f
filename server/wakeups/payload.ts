// Encodes hints as payloads of notifications. PostgreSQL limits a payload to less than 8000 bytes.
import { parseId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"

/** A message between processes: a hint, or the growth of the revocation log. */
export type News = Hint | { readonly is: "revocations" }

const mostBytes = 7_900

/** Drops duplicates, and all but the highest head of each conversation. */
export function merged<N extends News>(hints: readonly N[]): readonly N[] {
  const byKey = new Map<string, N>()
  for (const hint of hints) {
    const key = hint.is === "envelopes" ? `e ${hint.conversationId}` : textOf(hint)
    const there = byKey.get(key)
    if (hint.is === "envelopes" && there?.is === "envelopes" && there.headSeq >= hint.headSeq) continue
    byKey.set(key, hint)
  }
  return [...byKey.values()]
}

/**
 * Encodes hints in as many payloads as necessary.
 *
 * @param origin This process: letters and digits. It ignores payloads with its own origin.
 */
export function encode(origin: string, hints: readonly News[]): readonly string[] {
  const payloads: string[] = []
  let payload = origin
  for (const text of merged(hints).map(textOf)) {
    if (payload.length + 1 + text.length > mostBytes) {
      payloads.push(payload)
      payload = origin
    }
    payload += `\n${text}`
  }
  return payload === origin ? payloads : [...payloads, payload]
}

/** Decodes a payload. Unknown lines are ignored, because a newer process may have sent them. */
export function decode(payload: string): { origin: string; hints: readonly News[] } {
  const [origin = "", ...lines] = payload.split("\n")
  return { origin, hints: lines.map(hintOf).filter((hint) => hint !== undefined) }
}

function textOf(hint: News): string {
  switch (hint.is) {
    case "revocations":
      return hint.is
    case "envelopes":
      return `envelopes ${hint.conversationId} ${hint.headSeq}`
    case "welcome":
      return `welcome ${hint.deviceId} ${hint.welcomeId} ${hint.conversationId}`
    case "deviceList":
      return `deviceList ${hint.userId} ${hint.version}`
    case "blockList":
      return `blockList ${hint.deviceId} ${hint.version}`
    case "directive":
      return `directive ${hint.conversationId} ${hint.directiveId}`
    case "member":
      return ["member", hint.deviceId, ...(hint.conversationId === undefined ? [] : [hint.conversationId])].join(" ")
    case "keyPackageLow":
    case "revoked":
      return `${hint.is} ${hint.deviceId}`
  }
}

function hintOf(line: string): News | undefined {
  const [is = "", first = "", second = "", third = ""] = line.split(" ")
  switch (is) {
    case "revocations":
      return line === is ? { is } : undefined
    case "envelopes": {
      const [conversationId, headSeq] = [parseId("cnv", first), parseNumber(second)]
      return conversationId && headSeq !== undefined ? { is, conversationId, headSeq } : undefined
    }
    case "welcome": {
      const [deviceId, welcomeId] = [parseId("dev", first), parseId("wel", second)]
      const conversationId = parseId("cnv", third)
      return deviceId && welcomeId && conversationId ? { is, deviceId, welcomeId, conversationId } : undefined
    }
    case "deviceList": {
      const [userId, version] = [parseId("prn", first), parseNumber(second)]
      return userId && version !== undefined ? { is, userId, version } : undefined
    }
    case "blockList": {
      const [deviceId, version] = [parseId("dev", first), parseNumber(second)]
      return deviceId && version !== undefined ? { is, deviceId, version } : undefined
    }
    case "directive": {
      const [conversationId, directiveId] = [parseId("cnv", first), parseId("dir", second)]
      return conversationId && directiveId ? { is, conversationId, directiveId } : undefined
    }
    case "member": {
      const [deviceId, conversationId] = [parseId("dev", first), parseId("cnv", second)]
      return deviceId && { is, deviceId, ...(conversationId && { conversationId }) }
    }
    case "keyPackageLow":
    case "revoked": {
      const deviceId = parseId("dev", first)
      return deviceId && { is, deviceId }
    }
    default:
      return undefined
  }
}

const parseNumber = (text: string): bigint | undefined => (/^\d{1,19}$/.test(text) ? BigInt(text) : undefined)
