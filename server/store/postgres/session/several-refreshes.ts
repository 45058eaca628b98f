// Refreshes of several sessions in one statement that waits for no session and no token of another call.
import { appendAllCtes } from "../audit/audit.ts"
import { countSeveralText, firstFurther, isLateText } from "../limits/count-several.ts"
import { prefixed } from "../row-mapping.ts"
import { array } from "../sql.ts"
import { factsText, sessionPlace } from "./refresh-facts.ts"
import { refreshTokenRows, refreshTokenTypes } from "./refresh-token-row.ts"
import { sessionRows } from "./sessions.ts"

const facts = factsText(sessionPlace)

/**
 * Counts and finds: $8 has the hashes of each call's token, as the text of an array of bytes.
 */
export const findAllText = `with of_call as (
  select hashes, place from unnest(${array(firstFurther, "text")}) with ordinality as each (hashes, place)
), ${countSeveralText("select place from of_call")}
select answered.call, answered.is_busy, answered.counted, found.*
from answered
join of_call on of_call.place = answered.call
left join lateral (
  select ${prefixed("session", sessionRows.columns)}, ${facts.columns}
  from (select 1) as one
  left join refresh_token as token on token.token_hash = any(of_call.hashes::bytea[])
  left join session on session.id = token.session_id
  ${facts.joins}
  limit 1
) as found on not answered.is_busy`

/** The value of $8 for one call. */
export const hashesText = (hashes: readonly Uint8Array[]): string =>
  `{${hashes.map((hash) => `"\\\\x${Buffer.from(hash).toString("hex")}"`).join(",")}}`

/** The expected state of a session, then the change: see rotateValues. */
const expectedTypes = {
  session_id: "text",
  rotation: "integer",
  device_id: "text",
  principal_id: "text",
  app_id: "text",
  principal_version: "bigint",
  policy_version: "bigint",
  now_at: "timestamptz",
  token_id: "text",
  idle_at: "timestamptz",
  retry_key: "bytea",
  sealed: "bytea",
}
const expected = Object.entries(expectedTypes)
const { columns } = refreshTokenRows
const wantedTypes = [...expected.map(([, type]) => type), ...columns.map((column) => refreshTokenTypes[column])]
const wantedNames = [...expected.map(([name]) => name), ...columns.map((column) => `new_${column}`)]
const wanted = wantedTypes.map((type, i) => array(firstFurther + i, type)).join(", ")
const [sessionIds, tokenIds] = [firstFurther, firstFurther + 8]

/**
 * Counts, rotates and appends the events, from parameter $8 on: the expected state, the change and the successor of each
 * call, then the columns of its event. Of two calls for one session, only the first is answered here.
 */
export const rotateAllText = `with wanted as materialized (
  select * from unnest(${wanted}) with ordinality as each (${wantedNames.join(", ")}, place)
), locked_session as materialized (
  select id, rotation, bound_device_id from session
  where id = any(${array(sessionIds, "text")}) and status = 'ACTIVE' order by id for update skip locked
), locked_token as materialized (
  select id from refresh_token
  where id = any(${array(tokenIds, "text")}) and rotated_at is null and revoked_at is null order by id for update skip locked
), fresh as materialized (
  select distinct on (wanted.session_id) wanted.place from wanted
  join locked_session as locked on locked.id = wanted.session_id and locked.rotation = wanted.rotation
    and locked.bound_device_id is not distinct from wanted.device_id
  join locked_token on locked_token.id = wanted.token_id
  left join authority_version
    on authority_version.principal_id = wanted.principal_id and authority_version.app_id = wanted.app_id
  left join policy_version on policy_version.app_id = wanted.app_id
  where coalesce(authority_version.version, 0) = wanted.principal_version
    and coalesce(policy_version.version, 0) = wanted.policy_version
    and not (${isLateText})
  order by wanted.session_id, wanted.place
), ${countSeveralText("select place from fresh")}, rotated as (
  update refresh_token as token
  set used_at = now_at, rotated_at = now_at, retry_key_hash = retry_key, successor_sealed = sealed
  from wanted join granted on granted.call = wanted.place
  where token.id = wanted.token_id and token.rotated_at is null and token.revoked_at is null
  returning token.session_id, token.previous_token_id, place, now_at, idle_at
), confirmed as (
  update refresh_token as token set confirmed_at = now_at, retry_key_hash = null, successor_sealed = null
  from rotated where token.id = rotated.previous_token_id and token.confirmed_at is null
), refreshed as (
  update session set rotation = rotation + 1, last_refreshed_at = now_at, idle_expires_at = idle_at
  from rotated where session.id = rotated.session_id and session.status = 'ACTIVE'
), succeeded as (
  insert into refresh_token (${columns.join(", ")})
  select ${columns.map((column) => `new_${column}`).join(", ")} from wanted join rotated using (place)
), ${appendAllCtes(firstFurther + wantedTypes.length, "select place from rotated")}
select answered.call, answered.is_busy, answered.counted from answered
where answered.is_busy or answered.call in (select place from rotated)`
