import type { DeviceId, SessionId } from "@signet/kernel/ids"
import {
  type DuePushes,
  type PushEndpoint,
  type PushTargets,
  pushDueAt,
  pushLimits,
} from "@signet/kernel/messaging/push"
import { at, bytes, type Database, run } from "../sql.ts"
import { type AccessOptions, appendAudit, createAccess } from "./access.ts"

interface EndpointRow {
  device_id: DeviceId
  registration_id: Uint8Array
  session_id: SessionId
  kind: PushEndpoint["kind"]
  url: string
  tries: number
}

const columns = "device_id, registration_id, session_id, kind, url, tries"
// The interval of the device outlives the registration, also a deleted one: a device that registers again gets no more
// pushes.
const setText = `insert into push_endpoint (${columns}, not_before, due_at)
values ($1, $2, $3, $4, $5, 0, $6, null)
on conflict (device_id) do update set registration_id = excluded.registration_id, session_id = excluded.session_id,
  kind = excluded.kind, url = excluded.url, tries = 0`
const deleteText = `delete from push_endpoint
where device_id = $1 and ($2::bytea is null or registration_id = $2::bytea) returning device_id`
const ofMembersText = `select device_id, not_before from push_endpoint where due_at is null and device_id in (
  select device_id from conversation_leaf where conversation_id = $1 and to_seq is null and user_id <> $2)`
const ofDevicesText = `select device_id, not_before from push_endpoint
where due_at is null and device_id = any($1::text[])`
// Appends to conversations with the same members schedule the same rows: both lock them in one order, or each could wait
// for the other.
const scheduleText = `update push_endpoint set due_at = locked.given_at, tries = 0
from (
  select endpoint.device_id, given.given_at
  from unnest($1::text[], $2::timestamptz[]) as given (device_id, given_at)
  join push_endpoint endpoint on endpoint.device_id = given.device_id
  where endpoint.due_at is null order by endpoint.device_id for update of endpoint
) locked where push_endpoint.device_id = locked.device_id`
const takeText = `update push_endpoint set due_at = null, not_before = $2 where device_id in (
  select device_id from push_endpoint where due_at <= $1 order by due_at limit $3 for update skip locked)
returning ${columns}`
const retryText = `update push_endpoint set due_at = $3, not_before = $3, tries = $4
where device_id = $1 and registration_id = $2`

export function createPushEndpoints(db: Database, options: AccessOptions): DuePushes {
  const { ask, transact } = createAccess(db, options)
  const remove = async (deviceId: DeviceId, registrationId: Uint8Array | null) => {
    await ask(deleteText, [deviceId, registrationId])
  }
  return {
    set: ({ deviceId, registrationId, sessionId, kind, url }, nowMs, audit) =>
      transact(async (trx, log) => {
        await run(trx, setText, [deviceId, registrationId, sessionId, kind, url, at(nowMs + pushLimits.everyMs)])
        await appendAudit(log, [audit])
      }),

    delete(deviceId, audit, registrationId = undefined) {
      if (audit === null) return remove(deviceId, registrationId ?? null)
      return transact(async (trx, log) => {
        const deleted = await run(trx, deleteText, [deviceId, registrationId ?? null])
        if (deleted.length > 0) await appendAudit(log, [audit])
      })
    },

    async deleteAll() {
      await ask("delete from push_endpoint", [])
    },

    async schedule(targets, nowMs, random) {
      const rows = await ask<{ device_id: DeviceId; not_before: Date }>(...findOf(targets))
      if (rows.length === 0) return
      const dues = rows.map(({ not_before }) => at(pushDueAt(not_before.getTime(), nowMs, random())))
      await ask(scheduleText, [rows.map(({ device_id }) => device_id), dues])
    },

    async takeDue(nowMs, limit) {
      const rows = await ask<EndpointRow>(takeText, [at(nowMs), at(nowMs + pushLimits.everyMs), limit])
      return rows.map(endpointOf)
    },

    async pushed({ deviceId, registrationId, tries }, decision) {
      if (decision.is === "delete") await remove(deviceId, registrationId)
      if (decision.is === "retry") await ask(retryText, [deviceId, registrationId, at(decision.atMs), tries + 1])
    },
  }
}

const findOf = (targets: PushTargets): [text: string, values: readonly unknown[]] =>
  "deviceIds" in targets
    ? [ofDevicesText, [targets.deviceIds]]
    : [ofMembersText, [targets.conversationId, targets.exceptUserId]]

const endpointOf = (row: EndpointRow): PushEndpoint => ({
  deviceId: row.device_id,
  registrationId: bytes(row.registration_id),
  sessionId: row.session_id,
  kind: row.kind,
  url: row.url,
  tries: row.tries,
})
