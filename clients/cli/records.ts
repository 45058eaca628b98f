// Prints records of the contract: selected fields in a table, all fields for one record.
import {
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf"
import { callAs } from "./api.ts"
import { type Cli, show } from "./cli.ts"
import { CommandError, exitCodes } from "./failure.ts"
import { collectPages } from "./lists.ts"
import { formatRecord, formatTable } from "./table.ts"

export interface View<D extends DescMessage> {
  readonly schema: D
  readonly fields: readonly Field<D>[]
}

/** A title in lower case, and the value's text. A field without "alone" is a column of tables, too. */
type Field<D extends DescMessage> = readonly [
  title: string,
  text: (record: MessageShape<D>) => string | undefined,
  where?: "alone",
]

export interface Page {
  readonly pageSize: number
  readonly pageToken: string
}

/** @returns The exit code. @throws CommandError if the server answered without the record */
export function showOne<D extends DescMessage>(
  cli: Cli,
  { schema, fields }: View<D>,
  record: MessageShape<D> | undefined,
): number {
  if (record === undefined) {
    throw new CommandError("FAULT", exitCodes.fault, "the server answered without the record", {
      hint: "Is it an older version? signet api --list shows what this command knows.",
    })
  }
  show(cli, toJson(schema, record), () =>
    formatRecord(
      cli.terminal,
      fields.map(([title, text]) => [title, text(record)]),
    ),
  )
  return 0
}

export function showAll<D extends DescMessage>(
  cli: Cli,
  { schema, fields }: View<D>,
  records: readonly MessageShape<D>[],
): number {
  const columns = fields.filter(([, , where]) => where !== "alone")
  show(
    cli,
    records.map((record) => toJson(schema, record)),
    () =>
      formatTable(
        cli.terminal,
        columns.map(([title]) => title.toUpperCase()),
        records.map((record) => columns.map(([, text]) => text(record) ?? "")),
      ),
  )
  return 0
}

/** Lists up to `limit` records, page by page. @returns The exit code. */
export function listAll<I extends DescMessage, O extends DescMessage, D extends DescMessage>(
  cli: Cli,
  method: DescMethodUnary<I, O>,
  limit: number,
  how: {
    readonly view: View<D>
    /** Audience of the token. Default: the auth service. */
    readonly audience?: string
    readonly request: (page: Page) => MessageInitShape<I>
    readonly items: (answer: MessageShape<O>) => readonly MessageShape<D>[]
    readonly next: (answer: MessageShape<O>) => string
  },
): Promise<number> {
  const first = how.request({ pageSize: Math.min(limit, 200), pageToken: "" })
  return callAs(
    cli,
    method,
    first,
    async (api, answered) => {
      const records = await collectPages(limit, async (page) => {
        const answer = page.pageToken === "" ? answered : await api.call(method, how.request(page))
        return { items: how.items(answer), nextPageToken: how.next(answer) }
      })
      return showAll(cli, how.view, records)
    },
    how.audience,
  )
}
