import { setTimeout as sleep } from "node:timers/promises"
import { Refused } from "@signet/kernel/errors"

const attempts = 40
const longestPauseMs = 250

/**
 * SQLSTATE of a serialization failure and a deadlock: PostgreSQL aborted one of two transactions, which may be retried.
 */
const transient: ReadonlySet<string> = new Set(["40001", "40P01"])

/** A text with a zero character, which PostgreSQL cannot store. */
const unkeepable = "22021"

/** The disk is full, or a value is too large for PostgreSQL (53100, 54000); the system's code under PGlite. */
const full: ReadonlySet<string> = new Set(["53100", "54000", "ENOSPC"])

/**
 * Codes of the system and of PostgreSQL: no connection, or a lost one (classes 08 and 57P, and 53300), or a timeout of
 * a statement, lock or transaction (57014, 55P03, 25P03, 25P04), or a primary that became a standby (25006).
 */
const lostCodes =
  /^(08\w{3}|57P0[123]|53300|57014|55P03|25P0[34]|25006|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/
/** Messages of `pg` for the same errors, without a code. */
const lostMessages = /^(Connection terminated|timeout exceeded when trying to connect|Client .* is not queryable)/

/**
 * Retries work after a transient failure: up to 40 attempts with growing random pauses.
 *
 * @throws Refused UNAVAILABLE when no attempt succeeded, and when the database is unreachable. STORAGE_FULL when the
 *   disk is full. INVALID_FIELD for a text with a zero character.
 */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const code = codeOf(error)
      if (!transient.has(code)) {
        if (code === unkeepable) throw new Refused("INVALID_FIELD", { cause: error })
        if (full.has(code)) throw new Refused("STORAGE_FULL", { cause: error })
        if (isLost(error, code)) throw new Refused("UNAVAILABLE", { cause: error })
        throw error
      }
      if (attempt === attempts) throw new Refused("UNAVAILABLE", { cause: error })
      await sleep(Math.random() * Math.min(longestPauseMs, 5 * 2 ** attempt))
    }
  }
}

/** True if the database is unreachable, or was too slow. */
export function isLost(error: unknown, code: string = codeOf(error)): boolean {
  return lostCodes.test(code) || (error instanceof Error && lostMessages.test(error.message))
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
}
