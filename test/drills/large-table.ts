// The largest table of an installation with generated rows, and the migrations that the drill applies to it.
import { createHash } from "node:crypto"
import { CompiledQuery } from "kysely"
import { readMigrations } from "../../server/store/postgres/migrate.ts"
import { indexOf, type SqlFile, statementsOf } from "../../server/store/postgres/migrating/files.ts"
import { type Database, run } from "../../server/store/postgres/sql.ts"

const execute = (db: Database, statement: string) => db.executeQuery(CompiledQuery.raw(statement))

/** Undoes a migration that only creates indexes: the database is then as the release before left it. */
export async function withoutMigration(db: Database, name: string): Promise<void> {
  const file = (await readMigrations()).find((one) => one.name === name)
  if (file === undefined) throw new Error(`there is no migration ${name}`)
  for (const statement of statementsOf(file.text)) await execute(db, `drop index ${indexOf(statement)?.index}`)
  await run(db, "delete from migration_checksum where name = $1", [name])
}

/** Ids by time, kinds and principals as after many sign-ins, and a stamp and sealed fields of the usual size. */
const events = (
  from: number,
  to: number,
) => `insert into audit_event (id, occurred_at, kind, outcome, app_id, tenant_id,
    actor_principal_id, subject_principal_id, session_id, target_type, target_id, request_id, request_route, key_owner,
    personal_sealed, stamp)
  select 'aud_' || lpad(n::text, 26, '0'), now() - interval '90 days' + n * interval '1 millisecond',
    (array['login.succeeded', 'token.refreshed', 'token.issued', 'session.revoked'])[1 + n % 4], 'SUCCESS', 'app_drill',
    case when n % 2 = 0 then 'tnt_' || n % 1000 end, 'prn_' || md5((n % 1000003)::text), 'prn_' || md5((n % 1000003)::text),
    'ses_' || md5((n / 10)::text), 'session', 'ses_' || md5((n / 10)::text), md5(n::text), '/auth/refresh',
    'prn_' || md5((n % 1000003)::text), decode(repeat(md5(n::text), 4), 'hex'), sha256(n::text::bytea)
  from generate_series(${from}, ${to}) n`

const batch = 1_000

/** The first rows that are due, by id: the text of a backfill. */
export const oneBatch = `update audit_event set drill = 'new' where id in (
  select id from audit_event where drill is null order by id limit ${batch})`

/** More than the cores of a small machine, so that other work takes less from the load. */
const connections = 8

/** Adds rows, of which the last ones are due for the backfill of the drill, and the column that it fills. */
export async function addEvents(db: Database, rows: number, due: number): Promise<void> {
  const add = (from: number, to: number) => execute(db, events(from, to))
  const share = Math.ceil((rows - due) / connections)
  const shares = Array.from({ length: connections }, (_, index) => index * share)
  await Promise.all(shares.map((from) => add(from + 1, Math.min(from + share, rows - due))))
  // These rows have the value without being written.
  await execute(db, "alter table audit_event add column drill text default 'done'")
  await execute(db, "alter table audit_event alter column drill drop default")
  await add(rows - due + 1, rows)
  await execute(db, "vacuum analyze audit_event")
}

const file = (name: string, text: string): SqlFile => ({
  name,
  text,
  sha256: createHash("sha256").update(text).digest("hex"),
})

/** A catalog change, a check that is verified at once, and a backfill after the index that finds its rows. */
export const drillFiles = [
  file("9995_column", "alter table audit_event add column drill_added text;"),
  file("9996_check", "alter table audit_event add constraint drill_check check (octet_length(request_id) < 1000);"),
  file("9997_index", "create index audit_event_drill on audit_event (id) where drill is null;"),
  file("9998_backfill_drill", oneBatch),
] as const
