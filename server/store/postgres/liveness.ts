import type { Liveness, LivenessFacts } from "@signet/kernel/ports"
import type { App, Identity, Membership, Principal, Session } from "@signet/kernel/records"
import { type Database, run } from "./sql.ts"

// A session of somebody else, or of another app, is no session. Of memberships, one that was not removed comes first.
const findText = `
select principal.status as principal, identity.status as identity, app.status as app, membership.status as membership,
  session.status as session, session.idle_expires_at, session.absolute_expires_at
from (select $1::text as principal_id, $2::text as session_id, $3::text as app_id) as asked
left join principal on principal.id = asked.principal_id
left join identity on identity.id = principal.identity_id
left join app on app.id = asked.app_id
left join session on session.id = asked.session_id
  and session.principal_id = asked.principal_id and session.app_id = asked.app_id
left join membership on membership.principal_id = asked.principal_id and membership.app_id = asked.app_id
  and membership.tenant_id is null and membership.context_id is null
order by membership.status = 'REMOVED', membership.id desc
limit 1`

interface Row {
  principal: Principal["status"] | null
  identity: Identity["status"] | null
  app: App["status"] | null
  membership: Membership["status"] | null
  session: Session["status"] | null
  idle_expires_at: Date | null
  absolute_expires_at: Date | null
}

/** One statement, outside any transaction: the answer is of one instant. */
export function createLiveness(db: Database): Liveness {
  return {
    async find({ principalId, sessionId, appId }): Promise<LivenessFacts> {
      const [row] = await run<Row>(db, findText, [principalId, sessionId, appId])
      return {
        principal: row?.principal ?? undefined,
        identity: row?.identity ?? undefined,
        app: row?.app ?? undefined,
        membership: row?.membership ?? undefined,
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
