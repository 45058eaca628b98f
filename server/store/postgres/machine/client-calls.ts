// Calls of clients, each one statement outside of a transaction. Each statement commits its own writes.
import type { Taken } from "@signet/kernel/limits/ports"
import type { ClientCalls } from "@signet/kernel/machine/ports"
import { appendCtes, appendValues } from "../audit/audit.ts"
import { type CountedRow, countingText, countingValues, isRefusedText, limitCounts, takenOf } from "../limits/limits.ts"
import { retried } from "../retry.ts"
import { type Database, run } from "../sql.ts"
import { assertionUses } from "../token/revocations.ts"
import { inTransaction, type TransactionOptions } from "../transaction.ts"
import { type ClientRow, clientOf, clientText, clientValues, findClient } from "./client-facts.ts"
import { serviceCredentials } from "./service-credentials.ts"

const { columns, from } = clientText("client_id", 6, `not ${isRefusedText}`)
// JSON has no bytes, so keys are hexadecimal.
const countAndFindText = `with ${countingText}
select (select json_agg(json_build_array(encode(key, 'hex'), until_us, was_granted)) from counted) as counted,
  ${columns} from ${from}`

const countAndAppendText = `with ${countingText}, ${appendCtes(6, `not ${isRefusedText}`)}
select key, until_us, was_granted from counted`

type Found = ClientRow & { counted: readonly [key: string, untilUs: number, wasGranted: boolean | null][] | null }

export function clientCalls(db: Database, options: TransactionOptions): ClientCalls {
  const { markSecretUsed } = serviceCredentials(db)
  const { use } = assertionUses(db)

  return {
    find: (question) => retried(() => findClient(db, question)),

    countAndFind: (counting, question) =>
      retried(async () => {
        if ("principalId" in question.who) throw new RangeError("a client must be named by its client id")
        const [row] = await run<Found>(db, countAndFindText, [...countingValues(counting), ...clientValues(question)])
        const counted = row?.counted?.map(
          ([key, until_us, was_granted]): CountedRow => ({ key: Buffer.from(key, "hex"), until_us, was_granted }),
        )
        return { ...takenOf(counting, counted ?? []), client: row && clientOf(row, question) }
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

const isGranted = ({ counted, lockedUntilMs }: Taken): boolean =>
  lockedUntilMs === null && counted.every(({ granted }) => granted)
