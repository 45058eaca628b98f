import type { LoggedRevocation } from "./entry.ts"

/** A part of the log, of one instant. */
export interface LogPart {
  /** Which log; another id after a restart of the log. */
  readonly log: string
  /** The newest place. */
  readonly head: number
  /** In order, and only what had not expired half a minute ago: clocks may differ. */
  readonly entries: readonly LoggedRevocation[]
  /** The last place that the entries tell of: the head, or that of the last entry where there were more than asked for. */
  readonly to: number
  /** Something was committed that has no place yet. */
  readonly isPending: boolean
}

/**
 * Revocations in the order in which they may be read. They have no place when they are committed: one process after the
 * other gives them places, so nothing ever comes below what was read.
 */
export interface RevocationLog {
  /** Gives places to what is committed and has none, at most so many at once. How many; any number of processes may call it. */
  sequence(): Promise<number>
  /** @param limit The most entries. */
  read(of: { after: number; limit: number; nowMs: number }): Promise<LogPart>
}
