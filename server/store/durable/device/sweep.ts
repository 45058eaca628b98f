// Erases the device's expired records, many at once. The table `sweep` has the time of the next run.
import type { Sql } from "../sql.ts"
import { forgetClaims, oldestClaim } from "./claims.ts"
import { earliest, forgetPackages, nextPackageEnd } from "./key-packages.ts"
import { forgetNonces, nextNonceEnd } from "./nonces.ts"
import { forgetWelcomes, nextWelcomeEnd } from "./welcomes.ts"

/** How long a repeated claim gets the same answer. Its ticket is valid for a day. */
export const claimMs = 14 * 86_400_000
/** Expired records are erased this much later, many at once. */
const slackMs = 600_000

export const nextSweepAtMs = (sql: Sql): number | null =>
  sql.row<{ at: number | null }>("select at from sweep")?.at ?? null

/** Requires the transaction that writes a record with this expiry. */
export function sweepAfter(sql: Sql, expiresAtMs: number): void {
  const before = nextSweepAtMs(sql)
  if (before !== null && before <= expiresAtMs + slackMs) return
  putNext(sql, expiresAtMs + slackMs)
}

/** Requires a transaction. */
export function sweep(sql: Sql, nowMs: number): void {
  forgetPackages(sql, nowMs, claimMs)
  forgetClaims(sql, nowMs - claimMs)
  forgetWelcomes(sql, nowMs)
  forgetNonces(sql, nowMs)
  const claim = oldestClaim(sql)
  const next = earliest([
    nextPackageEnd(sql, claimMs),
    claim === null ? null : claim + claimMs,
    nextWelcomeEnd(sql),
    nextNonceEnd(sql),
  ])
  putNext(sql, next === null ? null : next + slackMs)
}

const putNext = (sql: Sql, atMs: number | null): void =>
  sql.run("insert or replace into sweep (id, at) values (1, ?)", atMs)
