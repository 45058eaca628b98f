// One statement for several calls of the same statement.
import { type Batch, batched } from "./batches.ts"
import { byParameter } from "./limits/count-several.ts"
import { array } from "./sql.ts"

/** The statement with other SQL for its parameters. @param sqlOf Returns the SQL of the nth parameter, from 1. */
export const withParameters = (text: string, sqlOf: (n: number) => string): string =>
  text.replaceAll(/\$(\d+)/g, (_, number) => sqlOf(Number(number)))

/**
 * SQL of a table with the values of several calls, `asked_of`, with the place of each from 1, and of the statement for
 * one of them.
 *
 * @param types The types of the statement's parameters.
 * @param first The number of the first parameter; each is an array with a value for each call.
 */
export const severalOf = (text: string, types: readonly string[], first = 1) => ({
  questions: `unnest(${types.map((type, i) => array(first + i, type)).join(", ")})
    with ordinality as asked_of (${types.map((_, i) => `value_${i + 1}`).join(", ")}, place)`,
  one: withParameters(text, (n) => `asked_of.value_${n}`),
})

type Ask = <Row>(text: string, values: readonly unknown[]) => Promise<readonly Row[]>

/**
 * Returns a function that reads the one row of a statement, together with the calls that wait meanwhile. Each call sees
 * what was committed before it.
 *
 * @param text A statement that returns a row at most, and reads only.
 */
export function findTogether<Row>(
  ask: Ask,
  text: string,
  types: readonly string[],
): (values: readonly unknown[]) => Promise<Row | undefined> {
  const { questions, one } = severalOf(text, types)
  const allText = `select asked_of.place as call, found.* from ${questions} cross join lateral (${one} offset 0) as found`
  const findAlone = async (values: readonly unknown[]) => ({ row: (await ask<Row>(text, values))[0] })
  const batch: Batch<readonly unknown[], { row: Row | undefined }> = {
    async runAll(calls) {
      const [only] = calls
      if (calls.length === 1 && only !== undefined) return [await findAlone(only)]
      const rows = await ask<Row & { call: number }>(allText, byParameter(calls))
      const rowOf = new Map(rows.map((row) => [row.call, row]))
      return calls.map((_, i) => ({ row: rowOf.get(i + 1) }))
    },
    runAlone: findAlone,
  }
  const find = batched(batch)
  return async (values) => (await find(values)).row
}
