import type { LoggedRevocation } from "./entry.ts"

/** A part of the log, read at one instant. */
export interface LogPart {
  /** Id of the log. A restarted log has another id. */
  readonly log: string
  /** The newest position. */
  readonly head: number
  /** In order, without entries that expired more than half a minute ago, the accepted clock skew. */
  readonly entries: readonly LoggedRevocation[]
  /** The last position that the entries cover: the head, or the last entry's position if the limit was reached. */
  readonly to: number
  /** True if a committed entry has no position yet. */
  readonly isPending: boolean
}

/**
 * The ordered log of revocations. Entries get their position after they are committed, from one process at a time, so
 * no entry appears below a position that was read.
 */
export interface RevocationLog {
  /**
   * Assigns positions to committed entries, a limited number at once, and returns how many. Any number of processes may
   * call it.
   */
  sequence(): Promise<number>
  /** @param limit Maximum number of entries. */
  read(of: { after: number; limit: number; nowMs: number }): Promise<LogPart>
}
