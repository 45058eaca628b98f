// A refresh in two statements outside of a transaction. Each statement commits its own writes.
import type { Counting } from "@signet/kernel/limits/ports"
import type { RefreshCalls } from "@signet/kernel/ports"
import type { Selectable } from "kysely"
import { appendCtes, appendValues } from "../audit/audit.ts"
import { batched } from "../batches.ts"
import { answersOf, byParameter, type CallRow, countSeveralValues, isLateText } from "../limits/count-several.ts"
import {
  type CountedJson,
  countedJsonText,
  countedRows,
  countingIf,
  countingText,
  countingValues,
  isGranted,
  isRefusedText,
  notCounted,
  takenOf,
} from "../limits/limits.ts"
import { retried } from "../retry.ts"
import { prefixed, rowOf } from "../row-mapping.ts"
import type { SessionTable } from "../schema.ts"
import { type Database, run } from "../sql.ts"
import type { TransactionOptions } from "../transaction.ts"
import { type FactsRow, factsOf, factsText, sessionPlace } from "./refresh-facts.ts"
import { refreshTokenRows } from "./refresh-token-row.ts"
import { rotateCtes, rotateValues } from "./refresh-tokens.ts"
import { sessionRows } from "./sessions.ts"
import { findAllText, hashesText, rotateAllText } from "./several-refreshes.ts"

type FoundRow = FactsRow & CountedJson & { is_late: boolean }
interface RotatedRow extends CountedJson {
  is_fresh: boolean
  is_rotated: boolean
}

const facts = factsText(sessionPlace)
const countAndFindText = `with ${countingText}
select ${countedJsonText} as counted, (select count(*) from counted) >= 0 and ${isLateText} as is_late,
  ${prefixed("session", sessionRows.columns)}, ${facts.columns}
from (select 1) as one
left join refresh_token as token on token.token_hash = any($6::bytea[]) and not ${isRefusedText}
left join session on session.id = token.session_id
${facts.joins}
limit 1`

// The session's row is locked first, in its newest state. Only then does the statement count and write.
const countAndRotateText = `with locked as materialized (
  select id from session where id = $6 and status = 'ACTIVE' and rotation = $7::integer
    and bound_device_id is not distinct from $8::text for update
), fresh as materialized (
  select id from locked where not ${isLateText}
    and coalesce((select version from authority_version where principal_id = $9 and app_id = $10), 0) = $11::bigint
    and coalesce((select version from policy_version where app_id = $10), 0) = $12::bigint
), ${countingIf("exists (select from fresh)")}, ${rotateCtes(13, `exists (select from fresh) and not ${isRefusedText}`)},
${appendCtes(18 + refreshTokenRows.columns.length, "exists (select from rotated)")}
select ${countedJsonText} as counted, exists (select from fresh) as is_fresh, exists (select from succeeded) as is_rotated`

interface Find {
  readonly counting: Counting
  readonly tokenHashes: readonly Uint8Array[]
}
interface Rotate {
  readonly counting: Counting
  /** The expected state, and the change. */
  readonly values: readonly unknown[]
  /** The values of the sealed event. */
  readonly event: readonly unknown[]
}
type Answer<Call extends keyof RefreshCalls> = Awaited<ReturnType<RefreshCalls[Call]>>

const refreshOf = (row: FactsRow): Answer<"countAndFind">["refresh"] => {
  const found = rowOf<SessionTable>(row, "session", sessionRows.columns)
  if (found === undefined) return undefined
  const session = sessionRows.fromRow(found as Selectable<SessionTable>)
  return { session, facts: factsOf(row, session) }
}

export function refreshCalls(db: Database, options: TransactionOptions): RefreshCalls {
  const find = batched<Find, Answer<"countAndFind">>({
    runAll: (calls) =>
      retried(async () => {
        const countings = calls.map(({ counting }) => counting)
        const hashes = calls.map(({ tokenHashes }) => hashesText(tokenHashes))
        const rows = await run<CallRow & FactsRow>(db, findAllText, [...countSeveralValues(countings), hashes])
        return answersOf(calls, rows, (row, { counting }) => ({
          ...takenOf(counting, countedRows(row)),
          refresh: refreshOf(row),
        }))
      }),
    runAlone: ({ counting, tokenHashes }) =>
      retried(async () => {
        const [row] = await run<FoundRow>(db, countAndFindText, [...countingValues(counting), tokenHashes])
        const taken = takenOf(counting, countedRows(row))
        const isUsable = row !== undefined && !row.is_late && isGranted(taken)
        return { ...taken, refresh: isUsable ? refreshOf(row) : undefined }
      }),
  })
  const rotate = batched<Rotate, Answer<"countAndRotate">>({
    runAll: (calls) =>
      retried(async () => {
        const countings = calls.map(({ counting }) => counting)
        const further = byParameter(calls.map(({ values, event }) => [...values, ...event]))
        const rows = await run<CallRow>(db, rotateAllText, [...countSeveralValues(countings), ...further])
        if (rows.some((row) => !row.is_busy)) options.audit.onCommitted()
        return answersOf(calls, rows, (row, { counting }) => ({
          ...takenOf(counting, countedRows(row)),
          isRotated: true,
        }))
      }),
    runAlone: ({ counting, values, event }) =>
      retried(async () => {
        const all = [...countingValues(counting), ...values, ...event]
        const [row] = await run<RotatedRow>(db, countAndRotateText, all)
        if (row?.is_fresh !== true) return { ...notCounted(counting), isRotated: false }
        if (row.is_rotated) options.audit.onCommitted()
        return { ...takenOf(counting, countedRows(row)), isRotated: row.is_rotated }
      }),
  })
  return {
    countAndFind: (counting, tokenHashes) => find({ counting, tokenHashes }),

    async countAndRotate(counting, { session, versions }, rotation, event) {
      const audit = appendValues(options.audit, event)
      // The first event of a person in a process needs the person's key.
      if (audit === undefined) return { ...notCounted(counting), isRotated: false }
      const expected = [session.id, session.rotation, session.boundDeviceId, session.principalId, session.appId]
      const values = [...expected, versions.principal, versions.policy, ...rotateValues(rotation)]
      return rotate({ counting, values, event: audit })
    },
  }
}
