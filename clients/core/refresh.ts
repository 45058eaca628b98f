// One refresh, under the lock that everything with this sign-in shares. What is presented was stored before, with the
// key that tells a repeated request from a stolen token; so whatever is lost on the way is asked for again.
import { type AccessTokens, receivedTokens } from "./access-tokens.ts"
import type { Tokens } from "./auth-calls.ts"
import { endingReasons, type ServiceReason, SignetError } from "./errors.ts"
import type { Keep, KeptRecord } from "./keep.ts"
import type { Clock, Lock, Random } from "./ports.ts"
import type { SessionRecord } from "./record.ts"
import { randomText } from "./text.ts"

export type Outcome =
  | { readonly is: "refreshed"; readonly kept: KeptRecord; readonly tokens: AccessTokens }
  /** Another tab has done it meanwhile. */
  | { readonly is: "enough"; readonly kept: KeptRecord }
  /** The service will not refresh this session again, and it is off the shelf. */
  | { readonly is: "ended"; readonly sessionId: string; readonly reason: ServiceReason }
  /** Nobody is signed in any more. */
  | { readonly is: "gone" }

export interface Refresher {
  /** @throws SignetError; nobody is signed out by a failure. */
  refresh(of: {
    /** Whether there is no need any more, now that it is our turn. */
    isEnough: (kept: KeptRecord) => Promise<boolean>
    present: (record: SessionRecord) => Promise<Tokens>
  }): Promise<Outcome>
}

/** How often another may have been faster before somebody must be wrong. */
const rounds = 4

export const newRetryKey = (random: Random): string => randomText(random, 128)

export interface RefresherDeps {
  readonly keep: Keep
  readonly lock: Lock
  readonly clock: Clock
  readonly random: Random
}

export function createRefresher({ keep, lock, clock, random }: RefresherDeps): Refresher {
  let generation = 0
  /** What the shelf did not take, and the revision that it follows. It is presented only after it has been stored. */
  let unsaved: { after: string; record: SessionRecord } | undefined

  /**
   * The record, with what could not be saved before.
   *
   * @throws SignetError STORE_FAILED while it still cannot.
   */
  async function current(): Promise<KeptRecord | undefined> {
    const kept = await keep.load()
    if (kept === undefined || unsaved?.after !== kept.revision) return kept
    const { record } = unsaved
    // While it still cannot be stored, nothing is presented: the old token is forgiven once lost, not for as long as a
    // disk is full.
    const revision = await keep.put(record, kept.revision)
    unsaved = undefined
    return revision === undefined ? keep.load() : { revision, record }
  }

  async function save(kept: KeptRecord, record: SessionRecord): Promise<KeptRecord | undefined> {
    try {
      const revision = await keep.put(record, kept.revision)
      return revision === undefined ? undefined : { revision, record }
    } catch {
      // The tokens are good all the same, and the old token with its key gets the new one again.
      unsaved = { after: kept.revision, record }
      return kept
    }
  }

  return {
    refresh: ({ isEnough, present }) =>
      lock.run(async (): Promise<Outcome> => {
        for (let round = 0; round < rounds; round++) {
          const kept = await current()
          if (kept === undefined) return { is: "gone" }
          if (await isEnough(kept)) return { is: "enough", kept }
          const answer = await present(kept.record).catch(endingOf)
          if ("reason" in answer) {
            const isOurs = await keep.remove(kept.revision).catch(() => true)
            if (isOurs) return { is: "ended", sessionId: kept.record.user.sessionId, reason: answer.reason }
            // A holder that was frozen comes back with an old token; whoever overtook it has the session.
            continue
          }
          const nowMs = clock.nowMs()
          generation = Math.max(generation, kept.record.generation) + 1
          const saved = await save(kept, {
            ...{ user: kept.record.user, refreshToken: answer.refreshToken, retryKey: newRetryKey(random), generation },
            tokensGoodUntilMs: nowMs + answer.expiresIn * 1_000,
          })
          const tokens = receivedTokens(answer, { generation, nowMs })
          if (saved !== undefined) return { is: "refreshed", kept: saved, tokens }
        }
        throw new SignetError("LOCK_BUSY", "others change this sign-in all the time")
      }),
  }
}

function endingOf(error: unknown): { reason: ServiceReason } {
  const reason = error instanceof SignetError ? endingReasons.find((each) => each === error.reason) : undefined
  if (reason === undefined) throw error
  return { reason }
}
