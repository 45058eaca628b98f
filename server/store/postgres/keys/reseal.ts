// Seals every row of the sealed columns under the key that seals now, a page in a transaction, while servers read and write.
import { type SealedColumn, sealedColumns } from "@signet/kernel/keys/sealed-columns"
import { CompiledQuery } from "kysely"
import { retried } from "../retry.ts"
import { bytes, type Database, run } from "../sql.ts"

const page = 200

/** The value under the key that seals now; `"current"` when it is so already, undefined when it does not open. */
export type Reseal = (
  of: Pick<SealedColumn, "scheme"> & { label: ReturnType<SealedColumn["labelOf"]> },
  sealed: Uint8Array,
) => Uint8Array | "current" | undefined

export interface Pass {
  /** Values there are. */
  readonly seen: number
  /** Those that were under another key. */
  readonly resealed: number
  /** Columns with values that open under no key of the settings, and how many each. */
  readonly unopened: ReadonlyMap<string, number>
}

/**
 * Reads every sealed value once, and stores those that were under another key anew. What a server wrote meanwhile stays: a
 * value is replaced only where it is still what was read. A pass that is cut short is simply begun again.
 *
 * @param options.isDry Counts, and stores nothing.
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

  /** @returns How many were still what was read. */
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
  // A key that has signed its last has no private half: its value is empty.
  const some = `from ${table} where length(${column}) > 0`
  const select = `select ${[...key, ...also].join(", ")}, ${column} as sealed ${some}`
  return {
    first: `${select} order by ${keys} limit ${page}`,
    next: `${select} and (${keys}) > (${from(1)}) order by ${keys} limit ${page}`,
    update: `update ${table} set ${column} = $1 where ${column} = $2 and (${keys}) = (${from(3)})`,
  }
}
