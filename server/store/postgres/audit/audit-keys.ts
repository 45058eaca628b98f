// The keys that seal personal fields of the audit: one per person, created with the person's first event.

import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import { dayOwnerPrefix } from "@signet/kernel/audit/row"
import { at, bytes, type Database, run } from "../sql.ts"

const mostKnown = 10_000

/** Committed keys that this process remembers, so that it does not read them again. */
export interface KeyCache {
  get(owner: string): Uint8Array | undefined
  add(keys: ReadonlyMap<string, Uint8Array>): void
}

export function createKeyCache(): KeyCache {
  const known = new Map<string, Uint8Array>()
  return {
    get: (owner) => known.get(owner),
    add(keys) {
      for (const [owner, key] of keys) {
        if (known.size >= mostKnown) known.delete(known.keys().next().value ?? "")
        known.set(owner, key)
      }
    },
  }
}

const insertText = `insert into audit_data_key (owner, key_sealed, created_at) values ($1, $2, $3)
on conflict (owner) do nothing returning owner`

/**
 * The owner's key, created if missing. A new owner's key is inserted without a look-up, so concurrent sign-ins do not
 * block each other.
 *
 * @returns Null when it was erased.
 */
export async function ownKey(
  db: Database,
  seals: AuditCrypto,
  owner: string,
  nowMs: number,
): Promise<Uint8Array | null> {
  const { key, sealed } = seals.newDataKey(owner)
  const made = await run(db, insertText, [owner, Buffer.from(sealed), at(nowMs)])
  if (made.length > 0) return key
  return (await findKeys(db, seals, [owner])).get(owner) ?? null
}

const findText = "select owner, key_sealed from audit_data_key where owner = any($1::text[]) and key_sealed is not null"

/** The keys of these owners, always from the database and never from the process's memory. */
export async function findKeys(
  db: Database,
  seals: AuditCrypto,
  owners: readonly string[],
): Promise<ReadonlyMap<string, Uint8Array>> {
  if (owners.length === 0) return new Map()
  const rows = await run<{ owner: string; key_sealed: Uint8Array }>(db, findText, [owners])
  return new Map(
    rows.flatMap(({ owner, key_sealed }): [string, Uint8Array][] => {
      const key = seals.openDataKey(owner, bytes(key_sealed))
      return key === undefined ? [] : [[owner, key]]
    }),
  )
}

const eraseText = `insert into audit_data_key (owner, key_sealed, created_at, erased_at)
select owner, null, $2, $2 from unnest($1::text[]) as owner order by owner
on conflict (owner) do update set key_sealed = null, erased_at = excluded.erased_at
where audit_data_key.erased_at is null`

/** Erases the keys: their sealed fields become unreadable, and the owners get no new key. */
export async function eraseKeys(db: Database, owners: readonly string[], nowMs: number): Promise<void> {
  await run(db, eraseText, [owners, at(nowMs)])
}

const eraseDaysText = `update audit_data_key set key_sealed = null, erased_at = $1
where owner in (select owner from audit_data_key
  where owner like '${dayOwnerPrefix}%' and key_sealed is not null and created_at <= $2 limit 100)`

/** Erases the day keys of events without a known person. */
export async function eraseOldDays(db: Database, nowMs: number, keepMs: number): Promise<void> {
  await run(db, eraseDaysText, [at(nowMs), at(nowMs - keepMs)])
}
