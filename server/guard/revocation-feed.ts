// What was revoked, followed from the issuer and held here, so that a verifier that asks nobody refuses it within moments.
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
import { fetchText, StatusError } from "./fetch-text.ts"
import { createJwtVerifier } from "./jwt.ts"
import type { KeySet } from "./key-set.ts"
import type { FindLiveness } from "./liveness.ts"
import { type ServiceToken, withToken } from "./service-token.ts"
import { type TokenCrypto, webTokenCrypto } from "./token-crypto.ts"

/** Why the feed stands still. FULL: more is revoked than there is room for. UNREACHABLE: no answer came. */
export type FeedProblem = StatementRefusal | Reason | "FULL" | "UNREACHABLE"

export interface RevocationFeedOptions {
  /** The `iss` that is taken. */
  readonly issuer: string
  /** Where the issuer answers. Configured, never from a request or a token. */
  readonly baseUrl: string
  /** The keys at `/.well-known/statement-keys.json`: others sign no statements. */
  readonly statementKeys: KeySet
  /** This service's own access token for the issuer, with the scope `auth.revocations.read`. */
  readonly token: ServiceToken
  readonly clock: Clock
  readonly fetch: typeof fetch
  readonly crypto?: TokenCrypto
  /** The most entries that are held; with more the feed counts as stale. 250,000, about 50 MB. */
  readonly capacity?: number
  /** How long a call waits for news, in seconds: how old the feed gets while there is none. 3. */
  readonly waitSeconds?: number
  /**
   * For isolates, which run only while they answer: asks when a call comes and the last answer is older than this, in
   * milliseconds. Without it, `start` follows the feed in the background.
   */
  readonly askEveryMs?: number
  /** Told each time that the feed cannot go on. It tries again. */
  readonly onProblem?: (problem: FeedProblem, cause?: unknown) => void
  readonly random?: () => number
}

export interface RevocationFeed {
  /** For a guard's `liveness`. */
  readonly liveness: FindLiveness
  /**
   * Whether a key or a principal is revoked, for what was signed at a time: for a mailbox.
   *
   * @returns rejects when the feed was not heard for a minute.
   */
  isRevoked(of: {
    readonly kind: "CREDENTIAL" | "PRINCIPAL"
    readonly key: string
    readonly issuedAtMs: number
  }): Promise<boolean>
  /** The same keys without those that were revoked: for a guard's `keySet`. */
  withoutRevoked(keys: KeySet): KeySet
  /** Reads to the end without waiting. Throws when that cannot be done. */
  refresh(): Promise<void>
  /** Follows the feed until it is stopped. */
  start(): void
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>
  /** Everything that was revoked until then is known here; 0 while nothing is. Milliseconds since the Unix epoch. */
  readonly asOfMs: number
  /** The last place that was read. */
  readonly seq: number
  /** How many entries are held. */
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
/** Where too many wait already, others ask without waiting, for so long. */
const crowdedMs = 60_000
/** Without a word for so long, nobody can tell what was revoked. */
const unheardMs = 60_000
/** How long a call waits for an answer that others may wait for too. Then it goes by what is known. */
const patienceMs = 2_000
const abandonedMs = 15_000
/** Pages of one run, and beginnings: an issuer that never ends, or always begins anew, is no issuer. */
const maxPages = 10_000
const maxBeginnings = 3

export function createRevocationFeed(options: RevocationFeedOptions): RevocationFeed {
  const { issuer, baseUrl, clock, crypto = webTokenCrypto, capacity = 250_000, waitSeconds = 3 } = options
  const revoked = createRevocationSet(capacity)
  let position: FeedPosition = feedStart
  let askedAtMs = Number.NEGATIVE_INFINITY
  let asking: { readonly answered: Promise<void>; readonly sinceMs: number } | undefined
  let following: Promise<void> | undefined
  // What a call holds is its own: in an isolate no call may touch another's.
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

  /** Reads to the end; waits for news when there is none. @returns whether there was any. @throws FeedError */
  async function pull(seconds: number): Promise<boolean> {
    let beginnings = 0
    for (let page = 0; page < maxPages; page++) {
      const { seq, log: before, head } = position
      // The end of an empty log can be waited at like any other.
      const isBeginning = seq === 0 && (before === null || head > 0)
      const path = isBeginning ? "/auth/revocations/snapshot?after=0" : `/auth/revocations?after=${seq}&wait=${seconds}`
      const statement = await ask(path, seconds)
      const next = judgeStatement(position, statement, { issuer, nowMs: clock.nowMs() })
      if (next === "GAP" && beginnings++ < maxBeginnings) {
        // What is known stays known, until it expires.
        position = { ...position, seq: 0 }
        continue
      }
      if (typeof next === "string") throw new FeedError(next)
      const { log, seq: known } = position
      // What is known already may have been followed by something newer of the same key.
      const entries = statement.entries.filter((entry) => statement.log !== log || entry.seq > known)
      if (!revoked.add(entries, clock.nowMs())) {
        // Read again from the beginning, when some of it may have expired.
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
        tell(error)
        const longest = Math.min(pauseMs.longest, pauseMs.first * 2 ** failures++)
        await pause(longest * (0.5 + (options.random ?? Math.random)() / 2))
      }
    }
  }

  function tell(error: unknown): void {
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

  /** One question for all who wait for its answer. */
  function refresh(): Promise<void> {
    // In an isolate a question may end unanswered with the call that it came of.
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

  /** Asks, where calls have to; and waits for a first answer that is under way. */
  async function listen(): Promise<void> {
    const { askEveryMs } = options
    if (askEveryMs !== undefined && clock.nowMs() - askedAtMs >= askEveryMs) {
      askedAtMs = clock.nowMs()
      await Promise.race([refresh().catch(tell), pause(patienceMs)])
    } else if (asking !== undefined && (position.asOfMs === 0 || isAsked(asking, askEveryMs))) {
      // Nothing is known before the first answer; and who comes with the one that asks is to know as much.
      await Promise.race([asking.answered.catch(() => undefined), pause(patienceMs)])
    }
  }

  return {
    async liveness(context) {
      await listen()
      const nowMs = clock.nowMs()
      // When the token was issued, nothing that it concerns was revoked. What was since is told for as long as an access
      // token lives: of a context that is older, only that is known.
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

/** The statement in an answer; nothing that verifies where there is none. */
function statementIn(text: string): string {
  try {
    const answer: unknown = JSON.parse(text)
    if (typeof answer !== "object" || answer === null || !("statement" in answer)) return ""
    return typeof answer.statement === "string" ? answer.statement : ""
  } catch {
    return ""
  }
}
