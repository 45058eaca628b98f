import { setTimeout as sleep } from "node:timers/promises"
import { Refused } from "@signet/kernel/errors"

const attempts = 40
const longestPauseMs = 250

/** Serialization failure and deadlock: PostgreSQL gave up one of two transactions, which may run again (SQLSTATE). */
const transient: ReadonlySet<string> = new Set(["40001", "40P01"])

/** A text with a zero character, which PostgreSQL cannot keep. */
const unkeepable = "22021"

/** No room on the disk, or more than PostgreSQL keeps in one value (53100, 54000); of the system under PGlite. */
const full: ReadonlySet<string> = new Set(["53100", "54000", "ENOSPC"])

/**
 * Of the system and of PostgreSQL: no connection to be had, or one that went (classes 08 and 57P, and 53300); or it took
 * longer than a session may: a statement, a lock, a transaction (57014, 55P03, 25P03, 25P04).
 */
const lostCodes =
  /^(08\w{3}|57P0[123]|53300|57014|55P03|25P0[34]|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/
/** What `pg` says of the same without a code. */
const lostMessages = /^(Connection terminated|timeout exceeded when trying to connect|Client .* is not queryable)/

/**
 * Runs work again while it fails in a way that another run mends: 40 times at most, with growing random pauses.
 *
 * @throws Refused UNAVAILABLE when no run succeeded, and when the database cannot be reached. STORAGE_FULL when there is
 *   no room. INVALID_FIELD for a text with a zero character.
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

function isLost(error: unknown, code: string): boolean {
  return lostCodes.test(code) || (error instanceof Error && lostMessages.test(error.message))
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
}
