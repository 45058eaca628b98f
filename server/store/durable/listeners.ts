// The subscribers of an object: the objects of devices with open streams.
import type { DeviceId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import { inParallel } from "./in-parallel.ts"
import type { Sql } from "./sql.ts"

export interface Listeners {
  /** Subscribes the device's object, until it has not renewed the subscription for a while. */
  listen(deviceId: DeviceId): void
  /** Idempotent. */
  forget(deviceId: string): void
  /** Sends hints in the background. Never throws. A pending hint that a later one covers is sent once. */
  sendHints(hints: readonly Hint[]): void
}

export const listenerSteps = [
  "create table listener (device_id text primary key, until_ms integer not null) without rowid",
] as const

/** Longer than a device's object takes to renew; see server/edge/worker/streams. */
const leaseMs = 600_000

export function createListeners(of: {
  sql: Sql
  nowMs: () => number
  devices: { getByName(name: string): { hear(hints: readonly Hint[]): Promise<boolean> } }
  waitUntil: (work: Promise<unknown>) => void
}): Listeners {
  const { sql, devices } = of
  const waiting = new Map<string, Hint>()
  let isSending = false

  const forget = (deviceId: string): void => sql.run("delete from listener where device_id = ?", deviceId)

  async function sendTo(deviceId: string, hints: readonly Hint[]): Promise<void> {
    try {
      const isListening = await devices.getByName(deviceId).hear(hints)
      if (!isListening) forget(deviceId)
    } catch {
      // The subscriber finds the missed hints when it renews.
    }
  }

  async function sendPending(): Promise<void> {
    try {
      while (waiting.size > 0) {
        const hints = [...waiting.values()]
        waiting.clear()
        type Row = { device_id: string }
        const rows = sql.rows<Row>("select device_id from listener where until_ms > ?", of.nowMs())
        await inParallel(rows, ({ device_id }) => sendTo(device_id, hints))
      }
    } finally {
      isSending = false
    }
  }

  return {
    forget,

    listen(deviceId) {
      const nowMs = of.nowMs()
      const row = sql.row<{ until_ms: number }>("select until_ms from listener where device_id = ?", deviceId)
      // Renewals are frequent, and only writes are costly.
      if (row !== undefined && row.until_ms - nowMs > leaseMs / 2) return
      sql.run("insert or replace into listener (device_id, until_ms) values (?, ?)", deviceId, nowMs + leaseMs)
      sql.run("delete from listener where until_ms <= ?", nowMs)
    },

    sendHints(hints) {
      for (const hint of hints) waiting.set(nameOf(hint), hint)
      if (isSending || waiting.size === 0) return
      isSending = true
      of.waitUntil(sendPending())
    },
  }
}

/** Only the newest hint of each kind and object is sent, because its receiver then reads the state. */
function nameOf(hint: Hint): string {
  switch (hint.is) {
    case "envelopes":
      return `envelopes ${hint.conversationId}`
    case "directive":
      return `directive ${hint.directiveId}`
    case "deviceList":
      return `deviceList ${hint.userId}`
    case "welcome":
      return `welcome ${hint.welcomeId}`
    case "member":
      return `member ${hint.deviceId} ${hint.conversationId ?? ""}`
    default:
      return `${hint.is} ${hint.deviceId}`
  }
}
