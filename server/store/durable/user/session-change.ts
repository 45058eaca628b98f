// Changes of sessions that follow from a change of devices, on their way to the auth service.
import type { Effects } from "../effects.ts"
import type { Entry } from "../outbox.ts"
import type { Sql } from "../sql.ts"
import { findDevice, newestList } from "./rows.ts"

export type SessionChange = Parameters<Effects["changeSessions"]>[0]

export const sessionLane = "sessions"

export const isSessionChange = (entry: Entry): entry is Entry & { body: SessionChange } => entry.kind === sessionLane

export const sessionEntry = (body: SessionChange): Entry => ({ lane: sessionLane, kind: sessionLane, body })

/**
 * Returns the change with the newest list: its signature key is current, and it includes all later changes. Undefined if
 * the device to bind was revoked meanwhile and no session is to be ended.
 */
export function currentChange(sql: Sql, { bind, ...change }: SessionChange): SessionChange | undefined {
  const list = newestList(sql)?.bytes ?? change.list
  const isBound = bind !== null && findDevice(sql, bind.deviceId)?.status === "ACTIVE"
  if (!isBound && change.revoked.length === 0) return undefined
  return { ...change, list, bind: isBound ? bind : null }
}
