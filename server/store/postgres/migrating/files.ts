// The migration files and their kinds. A release expands the schema at start; what older servers still use, it drops
// only when the operator finishes the upgrade.
import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"

export interface SqlFile {
  name: string
  text: string
  /** SHA-256 of the text in hexadecimal. */
  sha256: string
  /** The same of an earlier text, which a database may have applied instead. */
  formerSha256?: string | undefined
}

/**
 * When a file is applied. `expand`: at each start; servers of the release before run on. `backfill`: by `admin migrate`;
 * one statement that changes a batch of rows (`limit`), repeated. `finish`: by `admin migrate --finish`, after the last
 * server of the release before has stopped; it also repeats the backfills until they change no row.
 */
export type MigrationKind = "expand" | "backfill" | "finish"

/** Shipped before the rule: they drop columns that servers of the release before read. */
const finishing: ReadonlySet<string> = new Set(["0020_audit_address_and_auth_time", "0023_directive_leases"])

export function kindOf(name: string): MigrationKind {
  if (/^\d{4}_finish_/.test(name) || finishing.has(name)) return "finish"
  return /^\d{4}_backfill_/.test(name) ? "backfill" : "expand"
}

/** Texts that no release had. Their schema is that of the files today, except that its checks are validated. */
const former: ReadonlyMap<string, string> = new Map([
  ["0021_principal_locks", "b89ce5e551ecc01c84e5a5003bdb62d702501575e854384cb6f861c882ac20ac"],
])

const folder = join(import.meta.dirname, "../migrations")

/** This program's migrations, in order. */
export async function readMigrations(): Promise<readonly SqlFile[]> {
  const files = (await readdir(folder)).filter((file) => /^\d{4}_[a-z_]+\.sql$/.test(file)).toSorted()
  return Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(folder, file), "utf8")
      const name = file.replace(/\.sql$/, "")
      const sha256 = createHash("sha256").update(text, "utf8").digest("hex")
      return { name, text, sha256, formerSha256: former.get(name) }
    }),
  )
}

/** The statements of a file, without comments. Migrations have no functions, so a semicolon outside of a text ends one. */
export function statementsOf(text: string): readonly string[] {
  const parts = text.replaceAll(/--.*$/gm, "").match(/(?:'[^']*'|[^;'])+/g) ?? []
  return parts.map((part) => part.replaceAll(/\s+/g, " ").trim()).filter((part) => part !== "")
}

const indexed = /^create (?:unique )?index (\w+) on (\w+)/i

/** The index that a statement creates, and its table; undefined for other statements. */
export function indexOf(statement: string): { readonly index: string; readonly table: string } | undefined {
  const [, index, table] = indexed.exec(statement) ?? []
  return index !== undefined && table !== undefined ? { index, table } : undefined
}
