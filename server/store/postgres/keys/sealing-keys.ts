// The state of sealing keys, and the keys that each process holds.
import type { SealingKeyHolder, SealingKeyRecord } from "@signet/kernel/keys/sealing"
import type { Selectable } from "kysely"
import { retried } from "../retry.ts"
import { at, bytesOrNull, type Database, msOrNull, run } from "../sql.ts"
import type { SealingKeyTable, SealingTables } from "./key-schema.ts"

/** A process reports every few seconds; one that has not reported for longer counts as ended. */
export const holderSeconds = 60

const listText = "select * from sealing_key order by created_at, id"

/** All sealing keys, oldest first. */
export async function listSealingKeys(db: Database): Promise<readonly SealingKeyRecord[]> {
  return (await run<Selectable<SealingKeyTable>>(db, listText, [])).map((row) => ({
    id: row.id,
    status: row.status,
    createdAtMs: row.created_at.getTime(),
    resealedAtMs: msOrNull(row.resealed_at),
    stampSealed: bytesOrNull(row.stamp_sealed),
  }))
}

const adoptText = `insert into sealing_key (id, status, created_at)
select $1, 'CURRENT', $2 where not exists (select from sealing_key) on conflict do nothing`

/**
 * Records the configured key if none is recorded: at an installation's first start, and at the first start of this
 * version.
 */
export async function adoptSealingKey(db: Database, id: string, nowMs: number): Promise<void> {
  await run(db, adoptText, [id, at(nowMs)])
}

const holdText = `insert into sealing_key_holder (process, key_ids, seals_with, seen_at) values ($1, $2, $3, now())
on conflict (process) do update set seals_with = excluded.seals_with, seen_at = excluded.seen_at`

/**
 * Records that a process runs, then returns the keys. So a new rotation sees the process, or the process sees the
 * rotation.
 */
export const holdSealingKeys = (
  db: Database,
  process: string,
  { keyIds, sealsWith }: SealingKeyHolder,
): Promise<readonly SealingKeyRecord[]> =>
  retried(() =>
    db
      .transaction()
      .setIsolationLevel("read committed")
      .execute(async (trx) => {
        await run(trx, holdText, [process, keyIds, sealsWith])
        return listSealingKeys(trx)
      }),
  )

export async function dropHolder(db: Database, process: string): Promise<void> {
  await run(db, "delete from sealing_key_holder where process = $1", [process])
}

const holdersText = `select key_ids, seals_with from sealing_key_holder
where seen_at > now() - make_interval(secs => ${holderSeconds})`

/** The running processes. */
export async function listHolders(db: Database): Promise<readonly SealingKeyHolder[]> {
  const rows = await run<Pick<SealingTables["sealing_key_holder"], "key_ids" | "seals_with">>(db, holdersText, [])
  return rows.map(({ key_ids, seals_with }) => ({ keyIds: key_ids, sealsWith: seals_with }))
}

// Every transaction locks its own virtual id. The database's own workers have no user.
const transactionsText = `select virtualxid as id from pg_locks
where locktype = 'virtualxid' and granted and pid in (select pid from pg_stat_activity
  where datname = current_database() and usesysid is not null and pid <> pg_backend_pid())`

/** The open transactions of other sessions. */
export const listTransactions = async (db: Database): Promise<readonly string[]> =>
  (await run<{ id: string }>(db, transactionsText, [])).map(({ id }) => id)

/** Blocks new processes until the transaction ends. */
export async function lockHolders(trx: Database): Promise<void> {
  await run(trx, "lock table sealing_key_holder in exclusive mode", [])
  await run(trx, `delete from sealing_key_holder where seen_at < now() - interval '1 day'`, [])
}

const startTexts = [
  "update sealing_key set status = 'PREVIOUS', stamp_sealed = $3 where id = $1 and $2 <> id",
  "insert into sealing_key (id, status, created_at) values ($1, 'CURRENT', $2)",
] as const

/** Makes the new key the current one. */
export async function startSealingRotation(
  trx: Database,
  { from, to, stampSealed, nowMs }: { from: string; to: string; stampSealed: Uint8Array; nowMs: number },
): Promise<void> {
  await run(trx, startTexts[0], [from, to, Buffer.from(stampSealed)])
  await run(trx, startTexts[1], [to, at(nowMs)])
}

/** Records that no row is sealed under the key. */
export async function markResealed(db: Database, id: string, nowMs: number): Promise<void> {
  await run(db, "update sealing_key set resealed_at = $2 where id = $1 and status = 'PREVIOUS'", [id, at(nowMs)])
}

/** Retires the key: it neither seals nor opens. */
export async function retireSealingKey(trx: Database, id: string, stampSealed: Uint8Array): Promise<void> {
  const text = "update sealing_key set status = 'RETIRED', stamp_sealed = $2 where id = $1 and status = 'PREVIOUS'"
  await run(trx, text, [id, Buffer.from(stampSealed)])
}
