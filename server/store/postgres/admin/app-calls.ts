// Reads of an app and its provider clients, each one statement outside of a transaction.
import type { AppCalls, AppConnections } from "@signet/kernel/ports"
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
import { type Database, run } from "../sql.ts"
import { appRows, clientRows } from "./apps.ts"

const columns = `${prefixed("app", appRows.columns)}, ${prefixed("client", clientRows.columns)}`
/** @param first The number of the first of three parameters: app, provider and platform. */
const joins = (first: number, condition: string) => `(select 1) as one
left join app on app.id = $${first} and ${condition}
left join provider_client as client
  on client.app_id = app.id and client.provider = $${first + 1} and client.platform = $${first + 2}
order by client.connection`

const findText = `select ${columns} from ${joins(1, "true")}`
const countAndFindText = `with ${countingText}
select ${countedJsonText} as counted, ${columns} from ${joins(6, `not ${isRefusedText}`)}`

type Row = Readonly<Record<string, unknown>>

export function appCalls(db: Database): AppCalls {
  return {
    findWithConnections: (...of) => retried(async () => connectionsOf(await run<Row>(db, findText, of))),

    countAndFind: (counting, { appId, provider, platform }) =>
      retried(async () => {
        const values = [...countingValues(counting), appId, provider, platform]
        const rows = await run<Row & CountedJson>(db, countAndFindText, values)
        return { ...takenOf(counting, countedRows(rows[0])), ...connectionsOf(rows) }
      }),
  }
}

function connectionsOf(rows: readonly Row[]): AppConnections {
  const app = rows[0] && rowOf<AppTable>(rows[0], "app", appRows.columns)
  const clients = rows.flatMap((row) => rowOf<ProviderClientTable>(row, "client", clientRows.columns) ?? [])
  return { app: app && appRows.fromRow(app), connections: clients.map(clientRows.fromRow) }
}
