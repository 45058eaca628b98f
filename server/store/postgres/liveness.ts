import type { Liveness, LivenessFacts } from "@signet/kernel/ports"
import type { App, Identity, Membership, Principal, Session } from "@signet/kernel/records"
import { type Database, run } from "./sql.ts"

// A session of somebody else, or of another app, is no session. A membership that was removed counts when there is no other.
const membershipIn = (place: string) => `(
  select status from membership where principal_id = asked.principal_id and app_id = asked.app_id and ${place}
  order by status = 'REMOVED', id desc limit 1
)`
const findText = `
select principal.status as principal, identity.status as identity, app.status as app,
  session.status as session, session.idle_expires_at, session.absolute_expires_at,
  ${membershipIn("tenant_id is null and context_id is null")} as membership,
  ${membershipIn("coalesce(tenant_id, '') = $4 and coalesce(context_id, '') = $5")} as inner_membership
from (select $1::text as principal_id, $2::text as session_id, $3::text as app_id) as asked
left join principal on principal.id = asked.principal_id
left join identity on identity.id = principal.identity_id
left join app on app.id = asked.app_id
left join session on session.id = asked.session_id
  and session.principal_id = asked.principal_id and session.app_id = asked.app_id`

interface Row {
  principal: Principal["status"] | null
  identity: Identity["status"] | null
  app: App["status"] | null
  membership: Membership["status"] | null
  inner_membership: Membership["status"] | null
  session: Session["status"] | null
  idle_expires_at: Date | null
  absolute_expires_at: Date | null
}

/** One statement, outside any transaction: the answer is of one instant. */
export function createLiveness(db: Database): Liveness {
  return {
    async find({ principalId, sessionId, appId, tenantId, contextId }): Promise<LivenessFacts> {
      const values = [principalId, sessionId, appId, tenantId ?? "", contextId ?? ""]
      const [row] = await run<Row>(db, findText, values)
      const membership = row?.membership === "ACTIVE" ? row.inner_membership : row?.membership
      return {
        principal: row?.principal ?? undefined,
        identity: row?.identity ?? undefined,
        app: row?.app ?? undefined,
        membership: membership ?? undefined,
        session: row && sessionOf(row),
      }
    },
  }
}

function sessionOf({ session, idle_expires_at, absolute_expires_at }: Row): LivenessFacts["session"] {
  if (session === null || idle_expires_at === null || absolute_expires_at === null) return undefined
  return {
    status: session,
    idleExpiresAtMs: idle_expires_at.getTime(),
    absoluteExpiresAtMs: absolute_expires_at.getTime(),
  }
}
