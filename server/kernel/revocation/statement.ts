// A statement of the revocation feed: what was revoked in a range of the log, and as of when. docs/decisions/
// 0013-revocation-feed.md says why ranges.
import { skewSeconds } from "../token/claims.ts"
import { entryClaims, isCount, isJson, isText, type LoggedRevocation, parseEntry } from "./entry.ts"

/** The `typ` that it is signed under. */
export const statementType = "rev+jwt"

/** Entries in one statement. */
export const maxEntries = 2_000

export interface RevocationStatement {
  readonly issuer: string
  /** Which log. Another id is another log, whose places mean nothing in this one. */
  readonly log: string
  /** It tells every entry that still counts, of the places after `from` up to and with `to`. */
  readonly from: number
  readonly to: number
  /** The newest place there was. */
  readonly head: number
  /** When that was so. Milliseconds since the Unix epoch; a whole second. */
  readonly asOfMs: number
  readonly entries: readonly LoggedRevocation[]
}

export function statementClaims(of: RevocationStatement): Readonly<Record<string, unknown>> {
  return {
    iss: of.issuer,
    // Never later than it is.
    iat: Math.floor(of.asOfMs / 1_000),
    log: of.log,
    seq_from: of.from,
    seq_to: of.to,
    head: of.head,
    entries: of.entries.map(entryClaims),
  }
}

/** Undefined for what is no statement: nothing of it is used then. */
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

/** How far a reader has come. */
export interface FeedPosition {
  /** Null before the first statement. */
  readonly log: string | null
  /** The last place that was read; 0 to begin, also to begin again. */
  readonly seq: number
  /** The newest place that the log was ever said to have: it never has fewer. */
  readonly head: number
  /** Everything that was revoked until then is known here. 0 while that cannot be said. */
  readonly asOfMs: number
}

export const feedStart: FeedPosition = Object.freeze({ log: null, seq: 0, head: 0, asOfMs: 0 })

/** Why a statement is not taken. GAP: something before it was missed, so the log is read from its beginning. */
export type StatementRefusal = "ISSUER" | "UNTIMELY" | "ROLLBACK" | "GAP"

/** How old a statement may be when it arrives. */
const maxAgeMs = 60_000

/**
 * What a statement means to a reader: its next position, or why it is not taken. A log that ends before what was read of
 * it has lost what was said, so the reader stays where it is and becomes stale. Another log is read from its beginning.
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
    // What an earlier log said last is as old as it was: a statement of before that is a replay.
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
