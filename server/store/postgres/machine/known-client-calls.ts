// Calls of clients that a process knows. Each is counted, and its work is done, only if the client's facts still have
// their tag: several calls in one statement, or one call in a statement of its own.
import type { LivenessQuestion } from "@signet/kernel/authz/liveness-ports"
import type { Counting } from "@signet/kernel/limits/ports"
import type { ClientCalls, ClientQuestion } from "@signet/kernel/machine/ports"
import { appendAllCtes, appendCtes, appendValues } from "../audit/audit.ts"
import { batched } from "../batches.ts"
import { answersOf, byParameter, type CallRow, countSeveralValues, isLateText } from "../limits/count-several.ts"
import {
  type CountedJson,
  countedJsonText,
  countedRows,
  countingIf,
  countingValues,
  isGranted,
  isRefusedText,
  notCounted,
  takenOf,
} from "../limits/limits.ts"
import { retried } from "../retry.ts"
import { type LivenessRow, livenessOf, livenessOfSeveral, livenessText, livenessValues } from "../session/liveness.ts"
import { type Database, run } from "../sql.ts"
import type { TransactionOptions } from "../transaction.ts"
import { clientValues, taggedText } from "./client-facts.ts"
import { countClientsText, firstAfterClients, severalClientsValues } from "./several-clients.ts"

const counted = taggedText(6)
const isSame = `with same as (
  select from ${counted.facts} where ${counted.tag} = $10::text
), ${countingIf("exists (select from same)")}`
// `late` reads all counts first: facts and liveness are from the snapshot before a wait for a bucket's lock.
const countAndAppendOfText = `${isSame}, late as materialized (
  select ${isLateText} as is_late from (select count(*) from counted) as all_counted
), ${appendCtes(11, `exists (select from same) and not ${isRefusedText} and not (select is_late from late)`)}
select ${countedJsonText} as counted, exists (select from same) as is_same, is_late from late`
// Facts and liveness are from the snapshot at the start, also after a wait for a bucket's lock.
const countAndFindLivenessText = `${isSame}
select ${countedJsonText} as counted,
  exists (select from same) as is_same,
  (select count(*) from counted) >= 0 and ${isLateText} as is_late,
  live.*
from (${livenessText(11)}) as live`

const grantAllText = `with ${countClientsText}, ${appendAllCtes(firstAfterClients, "select call from granted")}
select call, is_busy, counted from answered`
const { questions, one } = livenessOfSeveral(firstAfterClients)
const livenessOfAllText = `with ${countClientsText}
select answered.call, answered.is_busy, answered.counted, live.*
from answered join ${questions} on asked_of.place = answered.call
left join lateral (${one} offset 0) as live on not answered.is_busy`

/** A call to count, if the client's facts still have the tag. */
interface TaggedCall {
  readonly counting: Counting
  readonly client: ClientQuestion
  readonly tag: string
}
const valuesOf = (calls: readonly TaggedCall[]) => [
  ...countSeveralValues(calls.map(({ counting }) => counting)),
  ...severalClientsValues(calls),
]
interface Grant extends TaggedCall {
  /** The values of the sealed event. */
  readonly row: readonly unknown[]
}
interface LivenessCall extends TaggedCall {
  readonly liveness: LivenessQuestion
}

type SameCounted = CountedJson & { is_same: boolean; is_late: boolean }
type LivenessCounted = LivenessRow & SameCounted

type KnownCalls = Pick<ClientCalls, "countAndAppendOf" | "countAndFindLiveness">
type Answer<Call extends keyof KnownCalls> = Awaited<ReturnType<KnownCalls[Call]>>

export function knownClientCalls(db: Database, options: TransactionOptions): KnownCalls {
  const grant = batched<Grant, Answer<"countAndAppendOf">>({
    runAll: (calls) =>
      retried(async () => {
        const events = byParameter(calls.map(({ row }) => row))
        const rows = await run<CallRow>(db, grantAllText, [...valuesOf(calls), ...events])
        if (rows.some((row) => !row.is_busy)) options.audit.onCommitted()
        return answersOf(calls, rows, (row, { counting }) => ({
          ...takenOf(counting, countedRows(row)),
          is: "appended",
        }))
      }),
    runAlone: ({ counting, client, tag, row: event }) =>
      retried(async () => {
        const values = [...countingValues(counting), ...clientValues(client), tag, ...event]
        const [row] = await run<SameCounted>(db, countAndAppendOfText, values)
        if (row?.is_same !== true) return { ...notCounted(counting), is: "changed" }
        const taken = takenOf(counting, countedRows(row))
        if (!isGranted(taken)) return { ...taken, is: "refused" }
        if (row.is_late) return { ...taken, is: "late" }
        options.audit.onCommitted()
        return { ...taken, is: "appended" }
      }),
  })
  const findLiveness = batched<LivenessCall, Answer<"countAndFindLiveness">>({
    runAll: (calls) =>
      retried(async () => {
        const questions = byParameter(calls.map(({ liveness }) => livenessValues(liveness)))
        const rows = await run<CallRow & LivenessRow>(db, livenessOfAllText, [...valuesOf(calls), ...questions])
        return answersOf(calls, rows, (row, { counting, liveness }) => ({
          ...takenOf(counting, countedRows(row)),
          liveness: livenessOf(row, liveness),
          isLate: false,
        }))
      }),
    runAlone: ({ counting, client, tag, liveness }) =>
      retried(async () => {
        const values = [...countingValues(counting), ...clientValues(client), tag, ...livenessValues(liveness)]
        const [row] = await run<LivenessCounted>(db, countAndFindLivenessText, values)
        if (row?.is_same) {
          const taken = takenOf(counting, countedRows(row))
          return { ...taken, liveness: livenessOf(row, liveness), isLate: row.is_late }
        }
        return { ...notCounted(counting), liveness: undefined, isLate: false }
      }),
  })

  return {
    countAndFindLiveness: (counting, asked) => findLiveness({ counting, ...asked }),

    async countAndAppendOf(counting, { client, tag }, event) {
      const row = appendValues(options.audit, event)
      // The first event of a principal in a process needs the principal's key.
      if (row === undefined) return { ...notCounted(counting), is: "changed" }
      return grant({ counting, client, tag, row })
    },
  }
}
