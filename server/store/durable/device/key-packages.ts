// The key packages of one device, inside its object.
import { createHash } from "node:crypto"
import type { ClaimId, DeviceId, PrincipalId } from "@signet/kernel/ids"
import { equalBytes, hex } from "@signet/kernel/messaging/bytes"
import { type Inventory, inventoryOf, uploadFault } from "@signet/kernel/messaging/key-package"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { KeyPackages } from "@signet/kernel/messaging/ports"
import type { KeyPackageRecord } from "@signet/kernel/messaging/records"
import { marks, type Sql } from "../sql.ts"

export const keyPackageSteps = [
  `create table init_key (init_key blob primary key, package_hash blob not null) without rowid;
  create table key_package (
    ref blob primary key, init_key blob not null, device_id text not null, user_id text not null,
    credential_hash blob not null, package blob not null, is_last_resort integer not null,
    not_before integer not null, not_after integer not null, status text not null
  );
  create index key_package_next on key_package (status, is_last_resort, not_after, ref);
  create index key_package_end on key_package (not_after);
  -- What a claim took: the same again, until the claim is forgotten.
  create table taken (
    claim_id text not null, requester text not null, ref blob not null, taken_at integer not null,
    primary key (claim_id, requester)
  )`,
] as const

export const packageColumns = [
  "ref",
  "init_key",
  "device_id",
  "user_id",
  "credential_hash",
  "package",
  "is_last_resort",
  "not_before",
  "not_after",
  "status",
] as const

export interface PackageRow {
  ref: Uint8Array
  init_key: Uint8Array
  device_id: DeviceId
  user_id: PrincipalId
  credential_hash: Uint8Array
  package: Uint8Array
  is_last_resort: number
  not_before: number
  not_after: number
  status: KeyPackageRecord["status"]
}

export const packageOf = (row: PackageRow): KeyPackageRecord => ({
  ref: row.ref,
  initKey: row.init_key,
  deviceId: row.device_id,
  userId: row.user_id,
  credentialHash: row.credential_hash,
  bytes: row.package,
  isLastResort: row.is_last_resort === 1,
  notBeforeMs: row.not_before,
  notAfterMs: row.not_after,
  status: row.status,
})

/** In the order of `packageColumns`. */
export const packageValues = (one: KeyPackageRecord) => [
  one.ref,
  one.initKey,
  one.deviceId,
  one.userId,
  one.credentialHash,
  one.bytes,
  one.isLastResort,
  one.notBeforeMs,
  one.notAfterMs,
  one.status,
]

const columns = packageColumns.join(", ")
// kernel/messaging/key-package.ts `isClaimable`.
const claimable = "status = 'AVAILABLE' and not_before <= ? and not_after > ?"
const claimableAt = (nowMs: number) => [nowMs, nowMs + lifetimeMs.keyPackageReserve] as const
const inventoryText = `select coalesce(sum(not is_last_resort), 0) as available, coalesce(sum(is_last_resort), 0) as last_resorts
from key_package where ${claimable}`
// kernel/messaging/key-package.ts `chooseKeyPackage`, without reading the other packages.
const chooseText = `select ${columns} from key_package where ${claimable}
order by is_last_resort, not_after, ref limit 1`
const takenText = `select ${packageColumns.map((column) => `key_package.${column}`).join(", ")}
from taken join key_package on key_package.ref = taken.ref where claim_id = ? and requester = ?`
const insertText = `insert into key_package (${columns}) values (${marks(packageColumns)})`

/** Requires a transaction, as every function here that writes. */
export function upload(
  sql: Sql,
  packages: readonly KeyPackageRecord[],
  nowMs: number,
): Awaited<ReturnType<KeyPackages["upload"]>> {
  const fresh = notKnown(sql, packages)
  if (fresh === "duplicate") return { is: "duplicate" }
  const inventory = inventoryIn(sql, nowMs)
  if (fresh.length === 0) return { is: "done", inventory }
  if (uploadFault(inventory.available, fresh) !== undefined) return { is: "full", inventory }
  if (fresh.some(({ isLastResort }) => isLastResort)) {
    sql.run("update key_package set status = 'RETIRED' where status = 'AVAILABLE' and is_last_resort")
  }
  for (const one of fresh) {
    sql.run("insert into init_key (init_key, package_hash) values (?, ?)", one.initKey, hashOf(one))
    sql.run(insertText, ...packageValues(one))
  }
  return { is: "done", inventory: inventoryIn(sql, nowMs) }
}

const hashOf = (one: KeyPackageRecord): Uint8Array => new Uint8Array(createHash("sha256").update(one.bytes).digest())

/** The packages that were never uploaded; "duplicate" if an init key or reference was uploaded with another package. */
function notKnown(sql: Sql, packages: readonly KeyPackageRecord[]): readonly KeyPackageRecord[] | "duplicate" {
  const fresh: KeyPackageRecord[] = []
  for (const one of packages) {
    type Row = { package_hash: Uint8Array }
    const row = sql.row<Row>("select package_hash from init_key where init_key = ?", one.initKey)
    if (row !== undefined && !equalBytes(row.package_hash, hashOf(one))) return "duplicate"
    if (row !== undefined) continue
    // The package exists under another init key, which an honest client's hash never does.
    if (sql.row("select 1 from key_package where ref = ?", one.ref) !== undefined) return "duplicate"
    fresh.push(one)
  }
  const isTwice = [packages.map(({ initKey }) => initKey), packages.map(({ ref }) => ref)].some(
    (all) => new Set(all.map(hex)).size < all.length,
  )
  return isTwice ? "duplicate" : fresh
}

export function inventoryIn(sql: Sql, nowMs: number): Inventory {
  const row = sql.row<{ available: number; last_resorts: number }>(inventoryText, ...claimableAt(nowMs))
  return inventoryOf({ available: row?.available ?? 0, hasLastResort: (row?.last_resorts ?? 0) > 0 })
}

export interface Taken {
  readonly taken: KeyPackageRecord | undefined
  /** After the take. */
  readonly isLow: boolean
}

/** Takes a package for a claim; a repeated call for the same claim takes the same one. */
export function take(
  sql: Sql,
  of: { readonly claimId: ClaimId; readonly requesterDeviceId: DeviceId },
  nowMs: number,
): Taken {
  const row = sql.row<PackageRow>(takenText, of.claimId, of.requesterDeviceId)
  const chosen = row ?? sql.row<PackageRow>(chooseText, ...claimableAt(nowMs))
  if (row === undefined && chosen !== undefined) {
    const values = [of.claimId, of.requesterDeviceId, chosen.ref, nowMs] as const
    sql.run("insert into taken (claim_id, requester, ref, taken_at) values (?, ?, ?, ?)", ...values)
    if (chosen.is_last_resort === 0) {
      sql.run("update key_package set status = 'CLAIMED' where ref = ?", chosen.ref)
      chosen.status = "CLAIMED"
    }
  }
  return { taken: chosen && packageOf(chosen), isLow: inventoryIn(sql, nowMs).isLow }
}

export function retire(sql: Sql, refs: readonly Uint8Array[] | "all"): void {
  const retired = "update key_package set status = 'RETIRED' where status = 'AVAILABLE'"
  if (refs === "all") sql.run(retired)
  else for (const ref of refs) sql.run(`${retired} and ref = ?`, ref)
}

/** Init keys are kept permanently. */
export function forgetPackages(sql: Sql, nowMs: number, claimMs: number): void {
  sql.run("delete from taken where taken_at <= ?", nowMs - claimMs)
  sql.run("delete from key_package where not_after <= ? and ref not in (select ref from taken)", nowMs)
}

export function nextPackageEnd(sql: Sql, claimMs: number): number | null {
  type Row = { at: number | null }
  const free = "select min(not_after) as at from key_package where ref not in (select ref from taken)"
  const ends = [sql.row<Row>(free)?.at ?? null]
  const taken = sql.row<Row>("select min(taken_at) as at from taken")?.at ?? null
  if (taken !== null) ends.push(taken + claimMs)
  return earliest(ends)
}

/** The earliest of these times; null without any. */
export function earliest(times: readonly (number | null)[]): number | null {
  const set = times.filter((at) => at !== null)
  return set.length === 0 ? null : Math.min(...set)
}
