// Calls of clients, each one statement outside of a transaction. Each statement commits its own writes.
import type { ClientCalls } from "@signet/kernel/machine/ports"
import { appendCtes, appendValues } from "../audit/audit.ts"
import {
  type CountedJson,
  type CountedRow,
  countedJsonText,
  countedRows,
  countingIf,
  countingText,
  countingValues,
  isGranted,
  isRefusedText,
  limitCounts,
  notCounted,
  takenOf,
} from "../limits/limits.ts"
import { retried } from "../retry.ts"
import { type LivenessRow, livenessOf, livenessText, livenessValues } from "../session/liveness.ts"
import { type Database, run } from "../sql.ts"
import { assertionUses } from "../token/revocations.ts"
import { inTransaction, type TransactionOptions } from "../transaction.ts"
import { type ClientRow, clientOf, clientValues, findClient, taggedText } from "./client-facts.ts"
import { serviceCredentials } from "./service-credentials.ts"

const asked = taggedText(6, `not ${isRefusedText}`)
const countAndFindText = `with ${countingText}
select ${countedJsonText} as counted, facts.*, ${asked.tag} as tag from ${asked.facts}`

const countAndAppendText = `with ${countingText}, ${appendCtes(6, `not ${isRefusedText}`)}
select key, until_us, was_granted from counted`

const own = taggedText(1)
const findTaggedText = `select facts.*, ${own.tag} as tag from ${own.facts}`
const counted = taggedText(6)
const isSame = `with same as (
  select from ${counted.facts} where ${counted.tag} = $10::text
), ${countingIf("exists (select from same)")}`
const isLate = "clock_timestamp() - statement_timestamp() > interval '100 milliseconds'"
// `late` reads all counts first: facts and liveness are from the snapshot before a wait for a bucket's lock.
const countAndAppendOfText = `${isSame}, late as materialized (
  select ${isLate} as is_late from (select count(*) from counted) as all_counted
), ${appendCtes(11, `exists (select from same) and not ${isRefusedText} and not (select is_late from late)`)}
select ${countedJsonText} as counted, exists (select from same) as is_same, is_late from late`
// Facts and liveness are from the snapshot at the start, also after a wait for a bucket's lock.
const countAndFindLivenessText = `${isSame}
select ${countedJsonText} as counted,
  exists (select from same) as is_same,
  (select count(*) from counted) >= 0 and ${isLate} as is_late,
  live.*
from (${livenessText(11)}) as live`

type Found = ClientRow & CountedJson & { tag: string }
type SameCounted = CountedJson & { is_same: boolean; is_late: boolean }
type LivenessCounted = LivenessRow & SameCounted

export function clientCalls(db: Database, options: TransactionOptions): ClientCalls {
  const { markSecretUsed } = serviceCredentials(db)
  const { use } = assertionUses(db)

  return {
    find: (question) => retried(() => findClient(db, question)),

    countAndFind: (counting, question) =>
      retried(async () => {
        if ("principalId" in question.who) throw new RangeError("a client must be named by its client id")
        const [row] = await run<Found>(db, countAndFindText, [...countingValues(counting), ...clientValues(question)])
        const client = row && clientOf(row, question)
        return { ...takenOf(counting, countedRows(row)), found: client && { client, tag: row.tag } }
      }),

    findTagged: (question) =>
      retried(async () => {
        const [row] = await run<ClientRow & { tag: string }>(db, findTaggedText, clientValues(question))
        const client = row && clientOf(row, question)
        return client && { client, tag: row.tag }
      }),

    countAndFindLiveness: (counting, { client, tag, liveness }) =>
      retried(async () => {
        const values = [...countingValues(counting), ...clientValues(client), tag, ...livenessValues(liveness)]
        const [row] = await run<LivenessCounted>(db, countAndFindLivenessText, values)
        if (row?.is_same) {
          const taken = takenOf(counting, countedRows(row))
          return { ...taken, liveness: livenessOf(row, liveness), isLate: row.is_late }
        }
        return { ...notCounted(counting), liveness: undefined, isLate: false }
      }),

    countAndAppend: (counting, event) =>
      retried(async () => {
        const values = appendValues(options.audit, event)
        if (values !== undefined) {
          const rows = await run<CountedRow>(db, countAndAppendText, [...countingValues(counting), ...values])
          const taken = takenOf(counting, rows)
          if (isGranted(taken)) options.audit.onCommitted()
          return taken
        }
        return inTransaction(db, options, async (trx, audit) => {
          const taken = await limitCounts(trx).take(counting.asks, counting.locks, counting.nowMs)
          if (isGranted(taken)) await audit.append(event)
          return taken
        })
      }),

    countAndAppendOf: (counting, { client, tag }, event) =>
      retried(async () => {
        const audit = appendValues(options.audit, event)
        // The first event of a principal in a process needs the principal's key.
        if (audit === undefined) return { ...notCounted(counting), is: "changed" }
        const values = [...countingValues(counting), ...clientValues(client), tag, ...audit]
        const [row] = await run<SameCounted>(db, countAndAppendOfText, values)
        if (row?.is_same !== true) return { ...notCounted(counting), is: "changed" }
        const taken = takenOf(counting, countedRows(row))
        if (!isGranted(taken)) return { ...taken, is: "refused" }
        if (row.is_late) return { ...taken, is: "late" }
        options.audit.onCommitted()
        return { ...taken, is: "appended" }
      }),

    markSecretUsed: (...of) => retried(() => markSecretUsed(...of)),
    useAssertion: (...of) => retried(() => use(...of)),
  }
}
