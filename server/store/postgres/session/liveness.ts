import type { Liveness, LivenessFacts, LivenessQuestion } from "@signet/kernel/authz/liveness-ports"
import type { Identity, Membership, Principal, Session } from "@signet/kernel/records"
import { type PlaceRow, placeFactsOf, placeText } from "../admin/places.ts"
import { findTogether, severalOf, withParameters } from "../several.ts"
import { at, type Database, run } from "../sql.ts"

// A reactivated principal may act again; only its earlier tokens are refused, as if each was revoked.
// A session of another principal or app does not count. An ended membership counts only without another one.
const membershipIn = (place: string) => `(
  select status from membership where principal_id = asked.principal_id and app_id = asked.app_id and ${place}
  order by status in ('REMOVED', 'DECLINED', 'REJECTED', 'EXPIRED'), id desc limit 1
)`
const statusOf = (table: string) =>
  `case when ${table}_account.status = 'DISABLED' then 'SUSPENDED' else ${table}.status end as ${table}`
const findText = `
select ${statusOf("principal")}, ${statusOf("actor")}, identity.status as identity,
  ${placeText({ appId: "$3", tenantId: "$4", contextId: "$5" })},
  session.status as session, session.idle_expires_at, session.absolute_expires_at,
  ${membershipIn("tenant_id is null and context_id is null")} as membership,
  ${membershipIn("coalesce(tenant_id, '') = $4 and coalesce(context_id, '') = $5")} as inner_membership,
  ${membershipIn("coalesce(tenant_id, '') = $4 and context_id is null")} as tenant_membership,
  array(
    select case when issued_before is null then kind else 'TOKEN' end from revocation
    where expires_at > $9 and (
      (kind, key) in (('PRINCIPAL', $1), ('SESSION', $2), ('CREDENTIAL', $6), ('TOKEN', $7)) and issued_before is null
      or (kind, key) in (
        ('PRINCIPAL', $1), ('PRINCIPAL', $8), ('APP', $3), ('TENANT', $4), ('CONTEXT', $5), ('ISSUER_EPOCH', 'all')
      ) and issued_before > $10
    )
  ) as revoked,
  authority_version.version as principal_version, authority_version.min_version as principal_minimum,
  policy_version.version as policy_version, policy_version.min_version as policy_minimum
from (select $1::text as principal_id, $2::text as session_id, $3::text as app_id, $8::text as actor_id) as asked
left join principal on principal.id = asked.principal_id
left join service_account as principal_account on principal_account.principal_id = asked.principal_id
left join principal as actor on actor.id = asked.actor_id
left join service_account as actor_account on actor_account.principal_id = asked.actor_id
left join identity on identity.id = principal.identity_id
left join session on session.id = asked.session_id
  and session.principal_id = asked.principal_id and session.app_id = asked.app_id
left join authority_version
  on authority_version.principal_id = asked.principal_id and authority_version.app_id = asked.app_id
left join policy_version on policy_version.app_id = asked.app_id`

export interface LivenessRow extends PlaceRow {
  principal: Principal["status"] | null
  actor: Principal["status"] | null
  identity: Identity["status"] | null
  membership: Membership["status"] | null
  inner_membership: Membership["status"] | null
  tenant_membership: Membership["status"] | null
  session: Session["status"] | null
  idle_expires_at: Date | null
  absolute_expires_at: Date | null
  revoked: LivenessFacts["revoked"]
  principal_version: string | null
  principal_minimum: string | null
  policy_version: string | null
  policy_minimum: string | null
}

/** The statement with parameters from `$first` on. */
export const livenessText = (first: number): string => withParameters(findText, (n) => `$${n + first - 1}`)

const types = [...Array<string>(8).fill("text"), "timestamptz", "timestamptz"]

/** @param first The number of the first of ten parameters; each is an array with a value for each question. */
export const livenessOfSeveral = (first: number) => severalOf(findText, types, first)

export const livenessValues = (asked: LivenessQuestion): readonly unknown[] => [
  asked.principalId,
  asked.sessionId,
  asked.appId,
  asked.tenantId ?? "",
  asked.contextId ?? "",
  asked.credentialId,
  asked.tokenId,
  asked.actorId,
  at(asked.nowMs),
  at(asked.issuedAtMs),
]

export function livenessOf(row: LivenessRow | undefined, asked: LivenessQuestion): LivenessFacts {
  const inner = row?.tenant_membership === "SUSPENDED" ? row.tenant_membership : row?.inner_membership
  const membership = row?.membership === "ACTIVE" ? inner : row?.membership
  return {
    principal: row?.principal ?? undefined,
    actor: row?.actor ?? undefined,
    identity: row?.identity ?? undefined,
    ...placeFactsOf(row, asked),
    membership: membership ?? undefined,
    session: row && sessionOf(row),
    revoked: row?.revoked ?? [],
    minimum: { principal: Number(row?.principal_minimum ?? 0), policy: Number(row?.policy_minimum ?? 0) },
    current: { principal: Number(row?.principal_version ?? 0), policy: Number(row?.policy_version ?? 0) },
  }
}

/** One statement outside of a transaction, so the answer is from one snapshot. */
export function createLiveness(db: Database): Liveness {
  const find = findTogether<LivenessRow>((text, values) => run(db, text, values), findText, types)
  return { find: async (asked) => livenessOf(await find(livenessValues(asked)), asked) }
}

function sessionOf({ session, idle_expires_at, absolute_expires_at }: LivenessRow): LivenessFacts["session"] {
  if (session === null || idle_expires_at === null || absolute_expires_at === null) return undefined
  return {
    status: session,
    idleExpiresAtMs: idle_expires_at.getTime(),
    absoluteExpiresAtMs: absolute_expires_at.getTime(),
  }
}
