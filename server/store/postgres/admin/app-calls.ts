// Reads of an app and its provider clients, each one statement outside of a transaction.
import type { Counting, Taken } from "@signet/kernel/limits/ports"
import type { AppCalls, AppConnections } from "@signet/kernel/ports"
import type { Selectable } from "kysely"
import { batched } from "../batches.ts"
import {
  answersOf,
  byParameter,
  type CallRow,
  countSeveralText,
  countSeveralValues,
  firstFurther,
} from "../limits/count-several.ts"
import {
  type CountedJson,
  countedJsonText,
  countedRows,
  countingText,
  countingValues,
  isRefusedText,
  takenOf,
} from "../limits/limits.ts"
import { retried } from "../retry.ts"
import { prefixed, rowOf } from "../row-mapping.ts"
import type { AppTable, ProviderClientTable } from "../schema.ts"
import { findTogether, severalOf } from "../several.ts"
import { type Database, run } from "../sql.ts"
import { appRows, clientRows } from "./apps.ts"

const columns = `${prefixed("app", appRows.columns)}, ${prefixed("client", clientRows.columns)}`
/** @param first The number of the first of three parameters: app, provider and platform. */
const joins = (first: number, condition: string) => `(select 1) as one
left join app on app.id = $${first} and ${condition}
left join provider_client as client
  on client.app_id = app.id and client.provider = $${first + 1} and client.platform = $${first + 2}
order by client.connection`

const appText = `select ${appRows.columns.join(", ")} from app where id = $1`
const findText = `select ${columns} from ${joins(1, "true")}`
const countAndFindText = `with ${countingText}
select ${countedJsonText} as counted, ${columns} from ${joins(6, `not ${isRefusedText}`)}`

const types = ["text", "text", "text"]
const { questions, one } = severalOf(findText, types, firstFurther)
// Several rows for a call: one for each connection, in the order of the statement for one call.
const countAndFindAllText = `with ${countSeveralText(`select place from ${questions}`)}
select answered.call, answered.is_busy, answered.counted, found.*
from answered join ${questions} on asked_of.place = answered.call
left join lateral (${one} offset 0) as found on not answered.is_busy`

type Row = Readonly<Record<string, unknown>>
interface Call {
  readonly counting: Counting
  readonly way: Parameters<AppCalls["countAndFind"]>[1]
}

const valuesOf = ({ appId, provider, platform }: Call["way"]) => [appId, provider, platform]

export function appCalls(db: Database): AppCalls {
  const countAndFind = batched<Call, Taken & AppConnections>({
    runAll: (calls) =>
      retried(async () => {
        const values = [
          ...countSeveralValues(calls.map(({ counting }) => counting)),
          ...byParameter(calls.map(({ way }) => valuesOf(way))),
        ]
        const rows = await run<Row & CallRow>(db, countAndFindAllText, values)
        const rowsOf = Map.groupBy(rows, ({ call }) => call)
        return answersOf(calls, rows, (row, { counting }) => ({
          ...takenOf(counting, countedRows(row)),
          ...connectionsOf(rowsOf.get(row.call) ?? []),
        }))
      }),
    runAlone: ({ counting, way }) =>
      retried(async () => {
        const rows = await run<Row & CountedJson>(db, countAndFindText, [...countingValues(counting), ...valuesOf(way)])
        return { ...takenOf(counting, countedRows(rows[0])), ...connectionsOf(rows) }
      }),
  })
  const find = findTogether<Selectable<AppTable>>((...of) => retried(() => run(db, ...of)), appText, ["text"])
  return {
    async find(appId) {
      const row = await find([appId])
      return row && appRows.fromRow(row)
    },
    findWithConnections: (...of) => retried(async () => connectionsOf(await run<Row>(db, findText, of))),
    countAndFind: (counting, way) => countAndFind({ counting, way }),
  }
}

function connectionsOf(rows: readonly Row[]): AppConnections {
  const app = rows[0] && rowOf<AppTable>(rows[0], "app", appRows.columns)
  const clients = rows.flatMap((row) => rowOf<ProviderClientTable>(row, "client", clientRows.columns) ?? [])
  return { app: app && appRows.fromRow(app), connections: clients.map(clientRows.fromRow) }
}
