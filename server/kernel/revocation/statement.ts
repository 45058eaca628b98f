// Statements of the revocation feed: the revocations in a range of the log, as of a time.
// docs/decisions/0013-revocation-feed.md gives the reason for ranges.

import { isCount, isJson } from "../json.ts"
import { skewSeconds } from "../token/claims.ts"
import { entryClaims, isText, type LoggedRevocation, parseEntry } from "./entry.ts"

/** The `typ` header of a signed statement. */
export const statementType = "rev+jwt"

/** Maximum number of entries in one statement. */
export const maxEntries = 2_000

export interface RevocationStatement {
  readonly issuer: string
  /** Id of the log. Positions of different logs cannot be compared. */
  readonly log: string
  /** The statement contains every unexpired entry after `from`, up to and including `to`. */
  readonly from: number
  readonly to: number
  /** The newest position of the log. */
  readonly head: number
  /** When the statement was true, in milliseconds since the Unix epoch; a whole second. */
  readonly asOfMs: number
  readonly entries: readonly LoggedRevocation[]
}

export function statementClaims(of: RevocationStatement): Readonly<Record<string, unknown>> {
  return {
    iss: of.issuer,
    // Rounded down: never later than the exact time.
    iat: Math.floor(of.asOfMs / 1_000),
    log: of.log,
    seq_from: of.from,
    seq_to: of.to,
    head: of.head,
    entries: of.entries.map(entryClaims),
  }
}

/** Undefined for a malformed statement, of which nothing is used. */
export function parseStatement(payload: unknown): RevocationStatement | undefined {
  if (!isJson(payload)) return undefined
  const { iss, iat, log, seq_from, seq_to, head, entries } = payload
  if (!isText(iss) || !isText(log) || !isCount(iat) || !isCount(seq_from) || !isCount(seq_to) || !isCount(head)) {
    return undefined
  }
  if (seq_from > seq_to || seq_to > head || !Array.isArray(entries) || entries.length > maxEntries) return undefined
  const parsed = entries.map(parseEntry).filter((entry) => entry !== undefined)
  if (parsed.length !== entries.length) return undefined
  if (parsed.some(({ seq }) => seq <= seq_from || seq > seq_to)) return undefined
  return { issuer: iss, log, from: seq_from, to: seq_to, head, asOfMs: iat * 1_000, entries: parsed }
}

/** How far a reader has read. */
export interface FeedPosition {
  /** Null before the first statement. */
  readonly log: string | null
  /** The last position that was read; 0 to start, or to start over. */
  readonly seq: number
  /** The highest head that the log has stated. A log never shrinks. */
  readonly head: number
  /** All revocations until this time are known. 0 while unknown. */
  readonly asOfMs: number
}

export const feedStart: FeedPosition = Object.freeze({ log: null, seq: 0, head: 0, asOfMs: 0 })

/** Why a statement is rejected. GAP: the reader missed a range and must read the log from its beginning. */
export type StatementRefusal = "ISSUER" | "UNTIMELY" | "ROLLBACK" | "GAP"

/** Maximum age of a statement on arrival. */
const maxAgeMs = 60_000

/**
 * Returns a reader's next position after a statement, or why the statement is rejected. A log that is shorter than
 * before has lost entries: the reader keeps its position and becomes stale. Another log is read from its beginning.
 */
export function judgeStatement(
  position: FeedPosition,
  statement: RevocationStatement,
  expected: { readonly issuer: string; readonly nowMs: number },
): FeedPosition | StatementRefusal {
  const { log, from, to, head, asOfMs } = statement
  if (statement.issuer !== expected.issuer) return "ISSUER"
  if (asOfMs > expected.nowMs + skewSeconds * 1_000 || asOfMs < expected.nowMs - maxAgeMs) return "UNTIMELY"
  if (log !== position.log) {
    if (from !== 0) return "GAP"
    // The position's asOfMs stays true across logs, so an older statement is a replay.
    if (asOfMs < position.asOfMs) return "UNTIMELY"
    return { log, seq: to, head, asOfMs: to === head ? asOfMs : position.asOfMs }
  }
  if (head < position.head) return "ROLLBACK"
  if (from > position.seq) return "GAP"
  return {
    log,
    seq: Math.max(position.seq, to),
    head: Math.max(position.head, head),
    asOfMs: to === head ? Math.max(position.asOfMs, asOfMs) : position.asOfMs,
  }
}
