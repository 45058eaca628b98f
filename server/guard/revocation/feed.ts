// A local copy of the issuer's revocation feed: a verifier rejects revoked tokens within moments without a request per
// call.
import type { Reason } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { createRevocationSet } from "@signet/kernel/revocation/revocation-set"
import {
  type FeedPosition,
  feedStart,
  judgeStatement,
  parseStatement,
  type RevocationStatement,
  type StatementRefusal,
  statementType,
} from "@signet/kernel/revocation/statement"
import { longestTokenMs } from "@signet/kernel/token/claims"
import { fetchText, StatusError } from "../fetch-text.ts"
import { createJwtVerifier } from "../jwt.ts"
import type { KeySet } from "../key-set.ts"
import { type ServiceToken, withToken } from "../service-token.ts"
import { type TokenCrypto, webTokenCrypto } from "../token-crypto.ts"
import type { FindLiveness } from "./liveness.ts"

/** Why the feed makes no progress. FULL: the capacity is exceeded. UNREACHABLE: the issuer did not answer. */
export type FeedProblem = StatementRefusal | Reason | "FULL" | "UNREACHABLE"

export interface RevocationFeedOptions {
  /** Accepted `iss`. */
  readonly issuer: string
  /** The issuer's base URL. Configured, never from a request or a token. */
  readonly baseUrl: string
  /** The keys of `/.well-known/statement-keys.json`. Other keys do not sign statements. */
  readonly statementKeys: KeySet
  /** This service's own access token for the issuer, with the scope `auth.revocations.read`. */
  readonly token: ServiceToken
  readonly clock: Clock
  readonly fetch: typeof fetch
  readonly crypto?: TokenCrypto
  /** Maximum number of entries; beyond it the feed counts as stale. 250,000, about 50 MB. */
  readonly capacity?: number
  /** Long-polling time in seconds, which is the feed's age while nothing changes. 3. */
  readonly waitSeconds?: number
  /**
   * For isolates, which run only during calls: a call reads the feed if the last answer is older than this, in
   * milliseconds. Without it, `start` follows the feed in the background.
   */
  readonly askEveryMs?: number
  /** Called for each failure. The feed then retries. */
  readonly onProblem?: (problem: FeedProblem, cause?: unknown) => void
  readonly random?: () => number
}

export interface RevocationFeed {
  /** For a guard's `liveness`. */
  readonly liveness: FindLiveness
  /**
   * True if a key or a principal is revoked for something signed at a time. For mailboxes.
   *
   * @throws Error (rejects) if the feed was not updated for a minute.
   */
  isRevoked(of: {
    readonly kind: "CREDENTIAL" | "PRINCIPAL"
    readonly key: string
    readonly issuedAtMs: number
  }): Promise<boolean>
  /** The key set without revoked keys, for a guard's `keySet`. */
  withoutRevoked(keys: KeySet): KeySet
  /** Reads to the end of the log without long polling. Rejects if that fails. */
  refresh(): Promise<void>
  /** Follows the feed until `stop`. */
  start(): void
  /** Resolves when no request is in progress. */
  stop(): Promise<void>
  /** All revocations until this time are known; 0 if none are. Milliseconds since the Unix epoch. */
  readonly asOfMs: number
  /** The last position that was read. */
  readonly seq: number
  /** Number of entries in memory. */
  readonly size: number
}

class FeedError extends Error {
  readonly problem: FeedProblem
  constructor(problem: FeedProblem, cause?: unknown) {
    super(`the revocation feed: ${problem}`, { cause })
    this.problem = problem
  }
}

const maxStatementLength = 2_000_000
const pauseMs = { between: 25, crowded: 1_000, first: 250, longest: 15_000 }
/** After a refusal because of too many waiting readers, calls do not wait for this time. */
const crowdedMs = 60_000
/** Without an update for this time, revocations are unknown. */
const unheardMs = 60_000
/** Maximum time that a call waits for a shared answer. Then it uses the known entries. */
const patienceMs = 2_000
const abandonedMs = 15_000
/** Limits of one run: pages, and restarts from the beginning. They protect against an issuer whose log never ends. */
const maxPages = 10_000
const maxBeginnings = 3

export function createRevocationFeed(options: RevocationFeedOptions): RevocationFeed {
  const { issuer, baseUrl, clock, crypto = webTokenCrypto, capacity = 250_000, waitSeconds = 3 } = options
  const revoked = createRevocationSet(capacity)
  let position: FeedPosition = feedStart
  let askedAtMs = Number.NEGATIVE_INFINITY
  let asking: { readonly answered: Promise<void>; readonly sinceMs: number } | undefined
  let following: Promise<void> | undefined
  // Each call owns its resources: in an isolate, a call must not use another call's I/O.
  const calls = new Set<AbortController>()
  const pauses = new Set<() => void>()
  let isStopped = false

  const withoutRevoked = (keys: KeySet): KeySet => ({
    find: async (kid) => (revoked.isKeyRevoked(kid, clock.nowMs()) ? "KEY_UNKNOWN" : keys.find(kid)),
  })
  const verify = createJwtVerifier<RevocationStatement>({
    typ: statementType,
    keySet: withoutRevoked(options.statementKeys),
    crypto,
    clock,
    cacheSize: 0,
    maxLength: maxStatementLength,
    read: (payload) => parseStatement(payload) ?? "MALFORMED_CREDENTIAL",
  })

  /** @throws FeedError */
  async function ask(path: string, seconds: number): Promise<RevocationStatement> {
    const call = new AbortController()
    let text: string
    try {
      if (isStopped) throw new Error("the revocation feed was stopped")
      calls.add(call)
      const limits = { timeoutMs: 10_000 + seconds * 1_000, maxBytes: maxStatementLength }
      text = await withToken(options.token, (token) => {
        const headers = { authorization: `Bearer ${token}` }
        return fetchText(options.fetch, `${baseUrl}${path}`, limits, { headers, signal: call.signal })
      })
    } catch (error) {
      throw new FeedError("UNREACHABLE", error)
    } finally {
      calls.delete(call)
    }
    const statement = await verify(statementIn(text))
    if (typeof statement === "string") throw new FeedError(statement)
    return statement
  }

  /** Reads to the end of the log, with long polling. @returns True if there were new entries. @throws FeedError */
  async function pull(seconds: number): Promise<boolean> {
    let beginnings = 0
    for (let page = 0; page < maxPages; page++) {
      const { seq, log: before, head } = position
      // The end of an empty log supports long polling, too.
      const isBeginning = seq === 0 && (before === null || head > 0)
      const path = isBeginning ? "/auth/revocations/snapshot?after=0" : `/auth/revocations?after=${seq}&wait=${seconds}`
      const statement = await ask(path, seconds)
      const next = judgeStatement(position, statement, { issuer, nowMs: clock.nowMs() })
      if (next === "GAP" && beginnings++ < maxBeginnings) {
        // Known entries remain until they expire.
        position = { ...position, seq: 0 }
        continue
      }
      if (typeof next === "string") throw new FeedError(next)
      const { log, seq: known } = position
      // Skip known positions: a newer entry may have replaced the entry of the same key.
      const entries = statement.entries.filter((entry) => statement.log !== log || entry.seq > known)
      if (!revoked.add(entries, clock.nowMs())) {
        // Read from the beginning next time, when some entries may have expired.
        position = { ...position, seq: 0 }
        throw new FeedError("FULL")
      }
      position = next
      if (statement.to === statement.head) return statement.entries.length > 0
    }
    throw new FeedError("UNREACHABLE", new Error("the revocation log did not end within the page limit"))
  }

  async function follow(): Promise<void> {
    let crowdedUntilMs = 0
    for (let failures = 0; !isStopped; ) {
      const isCrowded = clock.nowMs() < crowdedUntilMs
      try {
        await pull(isCrowded ? 0 : waitSeconds)
        failures = 0
        await pause(isCrowded ? pauseMs.crowded : pauseMs.between)
      } catch (error) {
        if (isStopped) return
        if (isTooMany(error)) crowdedUntilMs = clock.nowMs() + crowdedMs
        reportProblem(error)
        const longest = Math.min(pauseMs.longest, pauseMs.first * 2 ** failures++)
        await pause(longest * (0.5 + (options.random ?? Math.random)() / 2))
      }
    }
  }

  function reportProblem(error: unknown): void {
    if (error instanceof FeedError) options.onProblem?.(error.problem, error.cause)
    else options.onProblem?.("UNREACHABLE", error)
  }

  function pause(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        pauses.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      pauses.add(end)
    })
  }

  /** Concurrent callers share one request. */
  function refresh(): Promise<void> {
    // In an isolate, a request can end without an answer when the call that started it ends.
    if (asking !== undefined && clock.nowMs() - asking.sinceMs < abandonedMs) return asking.answered
    const asked = {
      sinceMs: clock.nowMs(),
      answered: pull(0)
        .then(() => undefined)
        .finally(() => {
          if (asking === asked) asking = undefined
        }),
    }
    asking = asked
    return asked.answered
  }

  const isAsked = ({ sinceMs }: { readonly sinceMs: number }, askEveryMs: number | undefined): boolean =>
    askEveryMs !== undefined && clock.nowMs() - sinceMs < patienceMs

  /** Updates the feed if a call must do so, or waits for the first answer. */
  async function listen(): Promise<void> {
    const { askEveryMs } = options
    if (askEveryMs !== undefined && clock.nowMs() - askedAtMs >= askEveryMs) {
      askedAtMs = clock.nowMs()
      await Promise.race([refresh().catch(reportProblem), pause(patienceMs)])
    } else if (asking !== undefined && (position.asOfMs === 0 || isAsked(asking, askEveryMs))) {
      // Before the first answer nothing is known. A concurrent call must know as much as the call that started the
      // request.
      await Promise.race([asking.answered.catch(() => undefined), pause(patienceMs)])
    }
  }

  return {
    async liveness(context) {
      await listen()
      const nowMs = clock.nowMs()
      // At issue nothing relevant was revoked. Entries are kept for an access token's lifetime, so for an older context
      // token only the state at issue is known.
      const issuedAtMs = Math.min(context.issuedAtMs, nowMs)
      const isTold = nowMs - issuedAtMs <= longestTokenMs
      return {
        facts: revoked.factsOf(context, nowMs),
        asOfMs: isTold ? Math.max(position.asOfMs, issuedAtMs) : issuedAtMs,
      }
    },

    async isRevoked(of) {
      await listen()
      if (clock.nowMs() - position.asOfMs > unheardMs) throw new Error("the revocation feed is stale")
      return revoked.isRevoked(of, clock.nowMs())
    },

    withoutRevoked,
    refresh,

    start() {
      following ??= follow()
    },

    async stop() {
      isStopped = true
      for (const call of calls) call.abort(new Error("the revocation feed was stopped"))
      for (const end of pauses) end()
      await Promise.allSettled([following, asking?.answered])
    },

    get asOfMs() {
      return position.asOfMs
    },
    get seq() {
      return position.seq
    },
    get size() {
      return revoked.size
    },
  }
}

const isTooMany = (error: unknown): boolean =>
  error instanceof FeedError && error.cause instanceof StatusError && error.cause.status === 429

/** Returns the statement of a response; an empty string, which never verifies, if there is none. */
function statementIn(text: string): string {
  try {
    const { statement }: { statement?: unknown } = JSON.parse(text)
    return typeof statement === "string" ? statement : ""
  } catch {
    return ""
  }
}
