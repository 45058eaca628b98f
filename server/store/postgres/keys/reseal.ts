// Reseals every row of the sealed columns under the current sealing key, one page per transaction, while servers run.
import { type SealedColumn, sealedColumns } from "@signet/kernel/keys/sealed-columns"
import { CompiledQuery } from "kysely"
import { retried } from "../retry.ts"
import { bytes, type Database, run } from "../sql.ts"

const page = 200

/** Reseals a value; `"current"` if its key is current, undefined if it does not open. */
type Reseal = (
  of: Pick<SealedColumn, "scheme"> & { label: ReturnType<SealedColumn["labelOf"]> },
  sealed: Uint8Array,
) => Uint8Array | "current" | undefined

export interface Pass {
  /** The number of values. */
  readonly seen: number
  /** The number of values that were under another key. */
  readonly resealed: number
  /** The number of values, by column, that no configured key opens. */
  readonly unopened: ReadonlyMap<string, number>
}

/**
 * Reads every sealed value once, and reseals those under another key. A value is replaced only if no server has changed
 * it meanwhile. An interrupted pass can be repeated.
 *
 * @param options.isDry True to count without storing.
 */
export async function resealAll(
  db: Database,
  reseal: Reseal,
  { isDry = false }: { isDry?: boolean } = {},
): Promise<Pass> {
  const pass = { seen: 0, resealed: 0, unopened: new Map<string, number>() }
  for (const column of sealedColumns) await resealColumn(db, column, { reseal, isDry, pass })
  return pass
}

type Row = Readonly<Record<string, unknown>> & { readonly sealed: Uint8Array }

async function resealColumn(
  db: Database,
  column: SealedColumn,
  {
    reseal,
    isDry,
    pass,
  }: { reseal: Reseal; isDry: boolean; pass: Pass & { seen: number; resealed: number; unopened: Map<string, number> } },
): Promise<void> {
  const { table, key, scheme } = column
  const texts = textsOf(column)
  for (let last: Row | undefined; ; ) {
    const rows = await (last === undefined ? run<Row>(db, texts.first, []) : run<Row>(db, texts.next, keyOf(last)))
    const changed: { row: Row; sealed: Uint8Array }[] = []
    for (const row of rows) {
      pass.seen += 1
      const sealed = reseal({ scheme, label: column.labelOf(row) }, bytes(row.sealed))
      if (sealed === undefined) {
        const name = `${table}.${column.column}`
        pass.unopened.set(name, (pass.unopened.get(name) ?? 0) + 1)
      } else if (sealed !== "current") changed.push({ row, sealed })
    }
    pass.resealed += isDry ? changed.length : await put(changed)
    last = rows.at(-1)
    if (last === undefined || rows.length < page) return
  }

  function keyOf(row: Row): readonly unknown[] {
    return key.map((name) => row[name])
  }

  /** @returns The number of values that were unchanged and so replaced. */
  function put(changed: readonly { row: Row; sealed: Uint8Array }[]): Promise<number> {
    if (changed.length === 0) return Promise.resolve(0)
    return retried(() =>
      db
        .transaction()
        .setIsolationLevel("read committed")
        .execute(async (trx) => {
          let count = 0
          for (const { row, sealed } of changed) {
            const values = [Buffer.from(sealed), Buffer.from(row.sealed), ...keyOf(row)]
            const { numAffectedRows = 0n } = await trx.executeQuery(CompiledQuery.raw(texts.update, values))
            count += Number(numAffectedRows)
          }
          return count
        }),
    )
  }
}

function textsOf({ table, column, key, also }: SealedColumn) {
  const keys = key.join(", ")
  const from = (first: number) => key.map((_, i) => `$${i + first}`).join(", ")
  // A retired key has no private half, and its value is empty.
  const some = `from ${table} where length(${column}) > 0`
  const select = `select ${[...key, ...also].join(", ")}, ${column} as sealed ${some}`
  return {
    first: `${select} order by ${keys} limit ${page}`,
    next: `${select} and (${keys}) > (${from(1)}) order by ${keys} limit ${page}`,
    update: `update ${table} set ${column} = $1 where ${column} = $2 and (${keys}) = (${from(3)})`,
  }
}
