// The plans that PostgreSQL chooses for statements when the tables are large.
import { CompiledQuery, sql } from "kysely"
import type { Database } from "../../server/store/postgres/sql.ts"
import type { Statement } from "./statements.ts"

interface Node {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Index Cond"?: string
  readonly Filter?: string
  readonly "Shared Hit Blocks"?: number
  readonly "Shared Read Blocks"?: number
  readonly "Parent Relationship"?: string
  readonly Plans?: readonly Node[]
}

export interface Scan {
  readonly table: string
  readonly index: string | undefined
  /** For messages. */
  readonly text: string
}

/** Scans of whole tables or indexes in a statement's plans, for its values and for any values. */
export async function wholeScans(db: Database, { text, values }: Statement): Promise<readonly Scan[]> {
  const plans: Node[] = []
  await db.connection().execute(async (session) => {
    await sql`set plan_cache_mode = force_generic_plan`.execute(session)
    await sql.raw(`prepare planned as ${text}`).execute(session)
    try {
      const parameters = values.length > 0 ? `(${values.map(() => "null").join(", ")})` : ""
      plans.push(await planOf(session, `explain (format json) execute planned${parameters}`, []))
      plans.push(await planOf(session, `explain (format json) ${text}`, values))
    } finally {
      await sql`deallocate planned`.execute(session)
      await sql`reset plan_cache_mode`.execute(session)
    }
  })
  const scans = plans.flatMap((plan) => scansIn(plan, false))
  return [...new Map(scans.map((scan) => [scan.text, scan])).values()]
}

/**
 * The scans of whole tables or indexes by prepared statements, whose plans PostgreSQL keeps: while they are planned, and
 * after `grow`.
 */
export async function keptScans(
  db: Database,
  statements: readonly Statement[],
  grow: () => Promise<void>,
): Promise<readonly { readonly text: string; readonly first: readonly Scan[]; readonly later: readonly Scan[] }[]> {
  return db.connection().execute(async (session) => {
    const scansOf = async ({ values }: Statement, i: number) => {
      const parameters = values.length > 0 ? `(${values.map(() => "null").join(", ")})` : ""
      return scansIn(await planOf(session, `explain (format json) execute kept_${i}${parameters}`, []), false)
    }
    await sql`set plan_cache_mode = force_generic_plan`.execute(session)
    try {
      for (const [i, { text }] of statements.entries()) await sql.raw(`prepare kept_${i} as ${text}`).execute(session)
      const first: (readonly Scan[])[] = []
      for (const [i, statement] of statements.entries()) first.push(await scansOf(statement, i))
      await grow()
      const later: (readonly Scan[])[] = []
      for (const [i, statement] of statements.entries()) later.push(await scansOf(statement, i))
      return statements.map(({ text }, i) => ({ text, first: first[i] ?? [], later: later[i] ?? [] }))
    } finally {
      for (const i of statements.keys()) await sql.raw(`deallocate kept_${i}`).execute(session)
      await sql`reset plan_cache_mode`.execute(session)
    }
  })
}

/** The blocks of tables and indexes that a statement reads or finds in memory. It is executed. */
export async function blocksOf(db: Database, { text, values }: Statement): Promise<number> {
  const plan = await planOf(db, `explain (analyze, buffers, format json) ${text}`, values)
  return (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0)
}

async function planOf(db: Database, text: string, values: readonly unknown[]): Promise<Node> {
  const query = CompiledQuery.raw(text, [...values])
  const { rows } = await db.executeQuery<{ "QUERY PLAN": readonly [{ Plan: Node }] }>(query)
  const plan = rows[0]?.["QUERY PLAN"][0].Plan
  if (plan === undefined) throw new Error("PostgreSQL explained nothing")
  return plan
}

/** Nodes that return their rows as they read them, so that a limit above stops the scan below. */
const streaming = new Set(["Nested Loop", "Subquery Scan", "LockRows", "Result", "Append", "Merge Append", "Unique"])

function scansIn(node: Node, isLimited: boolean): readonly Scan[] {
  const { "Node Type": type, "Relation Name": table = "", "Index Name": index, "Index Cond": condition } = node
  const text = `${type} of ${table}${index === undefined ? "" : ` by ${index}`}`
  const isWhole = type.endsWith("Seq Scan") || (/^Index.* Scan$/.test(type) && condition === undefined)
  const own = isWhole && !(isLimited && node.Filter === undefined) ? [{ table, index, text }] : []
  const goesOn = type === "Limit" || (isLimited && streaming.has(type))
  return [
    ...own,
    ...(node.Plans ?? []).flatMap((child) => scansIn(child, goesOn && child["Parent Relationship"] !== "Inner")),
  ]
}
