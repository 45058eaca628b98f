// Calls of clients, each one statement outside of a transaction. Each statement commits its own writes.
import type { ClientCalls } from "@signet/kernel/machine/ports"
import { appendCtes, appendValues } from "../audit/audit.ts"
import {
  type CountedJson,
  type CountedRow,
  countedJsonText,
  countedRows,
  countingText,
  countingValues,
  isGranted,
  isRefusedText,
  limitCounts,
  takenOf,
} from "../limits/limits.ts"
import { retried } from "../retry.ts"
import { type Database, run } from "../sql.ts"
import { assertionUses } from "../token/revocations.ts"
import { inTransaction, type TransactionOptions } from "../transaction.ts"
import { type ClientRow, clientOf, clientValues, findClient, taggedText } from "./client-facts.ts"
import { knownClientCalls } from "./known-client-calls.ts"
import { serviceCredentials } from "./service-credentials.ts"

const asked = taggedText(6, `not ${isRefusedText}`)
const countAndFindText = `with ${countingText}
select ${countedJsonText} as counted, facts.*, ${asked.tag} as tag from ${asked.facts}`

const countAndAppendText = `with ${countingText}, ${appendCtes(6, `not ${isRefusedText}`)}
select key, until_us, was_granted from counted`

const own = taggedText(1)
const findTaggedText = `select facts.*, ${own.tag} as tag from ${own.facts}`
type Found = ClientRow & CountedJson & { tag: string }
export function clientCalls(db: Database, options: TransactionOptions): ClientCalls {
  const { markSecretUsed } = serviceCredentials(db)
  const { use } = assertionUses(db)
  return {
    ...knownClientCalls(db, options),

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

    markSecretUsed: (...of) => retried(() => markSecretUsed(...of)),
    useAssertion: (...of) => retried(() => use(...of)),
  }
}
