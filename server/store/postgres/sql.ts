// Shared by the table files: constant statements, and the mapping between rows and records.
import { CompiledQuery, type Kysely } from "kysely"
import type { Tables } from "./schema.ts"

export type Database = Kysely<Tables>

type Send = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly unknown[] }>
const sends = new WeakMap<Database, Send>()

/** Lets `run` send statements outside of transactions without kysely's executor, which costs more than the statement. */
export function sendDirectly(db: Database, send: Send): void {
  sends.set(db, send)
}

/** Runs a constant statement. On hot paths kysely's builder costs more than the statement. */
export async function run<Row>(db: Database, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
  const send = sends.get(db)
  if (send !== undefined) return (await send(text, values)).rows as readonly Row[]
  return (await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows
}

/** `insert into table (a, b) values ($1, $2)`. */
export function insertInto(table: keyof Tables, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(", ")}) values (${columns.map((_, i) => `$${i + 1}`).join(", ")})`
}

/**
 * SQL of a parameter that is an array. PostgreSQL expects ten elements of a subquery's array, whatever the parameter
 * holds. So it keeps one plan, where it would plan anew for each length, which takes longer than such a statement.
 */
export const array = (parameter: number, type: string): string => `(select $${parameter}::${type}[])::${type}[]`

/** An instant as a row value. */
export const at = (ms: number): Date => new Date(ms)
export const atOrNull = (ms: number | null): Date | null => (ms === null ? null : new Date(ms))
export const msOrNull = (date: Date | null): number | null => (date === null ? null : date.getTime())

/** Plain bytes: the driver's are slices of a shared pool. */
export const bytes = (of: Uint8Array): Uint8Array => new Uint8Array(of)
export const bytesOrNull = (of: Uint8Array | null): Uint8Array | null => (of === null ? null : new Uint8Array(of))
