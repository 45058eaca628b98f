import type { PlaceState } from "@signet/kernel/messaging/moving"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import type { FindStreamOwners, StreamOwnerStates } from "@signet/kernel/messaging/stream-owner"
import type { Session } from "@signet/kernel/records"
import { retried } from "../retry.ts"
import { at, type Database, msOrNull, run } from "../sql.ts"

interface Row {
  n: number
  device: MessagingDevice["status"] | null
  place: PlaceState | null
  has_session: boolean
  session: Session["status"] | null
  idle_expires_at: Date | null
  absolute_expires_at: Date | null
}

// Only the rows that may end a stream, which are few: the kernel decides on them.
const findText = `select asked.n, device.status as device, place.state as place, asked.session_id <> '' as has_session,
  session.status as session, session.idle_expires_at, session.absolute_expires_at
from unnest($1::text[], $2::text[]) with ordinality as asked (device_id, session_id, n)
left join messaging_device device on device.id = asked.device_id
left join messaging_place place on place.app_id = device.app_id and place.tenant_id = device.tenant_id
left join session on session.id = asked.session_id
where device.status is distinct from 'ACTIVE' or coalesce(place.state, 'OPEN') <> 'OPEN'
  or (asked.session_id <> '' and (session.status is distinct from 'ACTIVE'
    or least(session.idle_expires_at, session.absolute_expires_at) <= $3))`

/** Asks about any number of streams in one statement. */
export function createStreamOwners(db: Database): FindStreamOwners {
  return (owners, nowMs) =>
    retried(async () => {
      const ids = [owners.map(({ deviceId }) => deviceId), owners.map(({ sessionId }) => sessionId ?? "")]
      const rows = await run<Row>(db, findText, [...ids, at(nowMs)])
      return new Map(rows.map((row) => [Number(row.n) - 1, statesOf(row)]))
    })
}

function statesOf(row: Row): StreamOwnerStates {
  const [idleExpiresAtMs, absoluteExpiresAtMs] = [msOrNull(row.idle_expires_at), msOrNull(row.absolute_expires_at)]
  const { session: status } = row
  const isStored = status !== null && idleExpiresAtMs !== null && absoluteExpiresAtMs !== null
  const session = isStored ? { status, idleExpiresAtMs, absoluteExpiresAtMs } : undefined
  return {
    device: row.device ?? undefined,
    place: row.place ?? "OPEN",
    session: row.has_session ? session : null,
  }
}
