// One refresh, under the lock that all tabs and processes of a sign-in share. The presented token was stored before, with the
// retry key that tells a repeated request from a stolen token. A lost answer is requested again.
import { type AccessTokens, receivedTokens } from "./access-tokens.ts"
import type { Tokens } from "./auth-calls.ts"
import { endingReasons, type ServiceReason, SignetError } from "./errors.ts"
import type { Clock, Lock, Random } from "./ports.ts"
import type { SessionRecord } from "./record.ts"
import type { SessionStore, StoredSession } from "./session-store.ts"
import { randomText } from "./text.ts"

export type Outcome =
  | { readonly is: "refreshed"; readonly kept: StoredSession; readonly tokens: AccessTokens }
  /** Another tab has refreshed since. */
  | { readonly is: "enough"; readonly kept: StoredSession }
  /** The service has ended the session, and its record is removed from the store. */
  | { readonly is: "ended"; readonly sessionId: string; readonly reason: ServiceReason }
  /** The store has no session. */
  | { readonly is: "gone" }

export interface RefreshSteps {
  /** True if no refresh is needed any more, now that this process holds the lock. */
  isEnough(kept: StoredSession): Promise<boolean>
  present(record: SessionRecord): Promise<Tokens>
}

interface Refresher {
  /** @throws SignetError; a failure ends no session. */
  refresh(steps: RefreshSteps): Promise<Outcome>
}

/** Rounds in which another process may change the record first. */
const maxRounds = 4

export const newRetryKey = (random: Random): string => randomText(random, 128)

interface RefresherDeps {
  readonly sessions: SessionStore
  readonly lock: Lock
  readonly clock: Clock
  readonly random: Random
}

export function createRefresher({ sessions, lock, clock, random }: RefresherDeps): Refresher {
  /** The newest generation of tokens that this process has received. */
  let generation = 0
  /**
   * An answer that the store did not accept, and the revision that it replaces. Nothing is presented before it is stored: the
   * service accepts the old token after a lost answer, but not for as long as a disk is full.
   */
  let unsaved: { after: string; record: SessionRecord } | undefined

  /** Reads the record, after storing an earlier answer. @throws SignetError STORE_FAILED while that cannot be stored */
  async function current(): Promise<StoredSession | undefined> {
    const kept = await sessions.load()
    if (kept === undefined || unsaved?.after !== kept.revision) return kept
    const { record } = unsaved
    const revision = await sessions.put(record, kept.revision)
    unsaved = undefined
    return revision === undefined ? sessions.load() : { revision, record }
  }

  /** @returns undefined if another process has replaced the record. */
  async function save(kept: StoredSession, record: SessionRecord): Promise<StoredSession | undefined> {
    try {
      const revision = await sessions.put(record, kept.revision)
      return revision === undefined ? undefined : { revision, record }
    } catch {
      // The tokens are valid, and the old refresh token with its retry key gets the same answer.
      unsaved = { after: kept.revision, record }
      return kept
    }
  }

  async function refreshOnce({ isEnough, present }: RefreshSteps): Promise<Outcome | "overtaken"> {
    const kept = await current()
    if (kept === undefined) return { is: "gone" }
    if (await isEnough(kept)) return { is: "enough", kept }
    const answer = await present(kept.record).catch(endingOf)
    if ("reason" in answer) {
      // Where the removal fails, the session has ended all the same.
      const isOurs = await sessions.remove(kept.revision).catch(() => true)
      // A process that was frozen presents an old token. The session is its successor's.
      return isOurs ? { is: "ended", sessionId: kept.record.user.sessionId, reason: answer.reason } : "overtaken"
    }
    const nowMs = clock.nowMs()
    generation = Math.max(generation, kept.record.generation) + 1
    const saved = await save(kept, {
      ...{ user: kept.record.user, refreshToken: answer.refreshToken, retryKey: newRetryKey(random), generation },
      tokensGoodUntilMs: nowMs + answer.expiresIn * 1_000,
    })
    const tokens = receivedTokens(answer, { generation, nowMs })
    return saved === undefined ? "overtaken" : { is: "refreshed", kept: saved, tokens }
  }

  return {
    refresh: (steps) =>
      lock.run(async () => {
        for (let round = 0; round < maxRounds; round++) {
          const outcome = await refreshOnce(steps)
          if (outcome !== "overtaken") return outcome
        }
        throw new SignetError("LOCK_BUSY", "other tabs changed this sign-in at every attempt: try again later")
      }),
  }
}

/** @throws The error, if it does not end the session. */
function endingOf(error: unknown): { reason: ServiceReason } {
  const reason = error instanceof SignetError ? endingReasons.find((each) => each === error.reason) : undefined
  if (reason === undefined) throw error
  return { reason }
}
