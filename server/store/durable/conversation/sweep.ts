// Deletes a conversation's expired records: undelivered welcomes, trees and the pruned part of the log.
import type { Sql } from "../sql.ts"
import type { Head } from "./head.ts"
import { prune } from "./prune.ts"
import { nextTreeAtMs, sweepTrees } from "./trees.ts"
import { nextWelcomeAtMs, sweepWelcomes } from "./welcomes.ts"

/** The time of the next sweep; null for none. */
export function nextSweepAtMs(sql: Sql, head: Head): number | null {
  const times = [head.get()?.pruneAtMs ?? null, nextTreeAtMs(sql), nextWelcomeAtMs(sql)]
  const known = times.filter((at) => at !== null)
  return known.length === 0 ? null : Math.min(...known)
}

/** Requires a transaction. @returns The number of deleted envelopes, at most `limit`. */
export function sweepExpired(sql: Sql, head: Head, nowMs: number, limit: number): number {
  sweepWelcomes(sql, nowMs)
  sweepTrees(sql, nowMs)
  return prune(sql, head, nowMs, limit)
}
