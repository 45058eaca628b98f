// A sign-in while the program runs: who is signed in, the access tokens, and when the next ones are due.
import { type AccessToken, type AccessTokens, newest, refreshAtMs, usableToken } from "./access-tokens.ts"
import type { Tokens } from "./auth-calls.ts"
import { type Changes, createChanges } from "./changes.ts"
import type { Platform } from "./client.ts"
import { type LoggedOutReason, SignetError } from "./errors.ts"
import type { Keep, KeptRecord } from "./keep.ts"
import { encodeMessage, type Message, parseMessage } from "./messages.ts"
import type { SessionRecord } from "./record.ts"
import { createRefresher, type Outcome } from "./refresh.ts"
import type { SessionState } from "./session.ts"
import { randomFraction } from "./text.ts"

export interface LiveSession {
  readonly states: Changes<SessionState>
  readonly ready: Promise<void>
  /**
   * A token with some time left.
   *
   * @param refused One that a service did not take, though it should be good: another is wanted.
   */
  token(audience: string, refused?: AccessToken): Promise<AccessToken>
  /** Somebody has signed in here, and is on the shelf. */
  begin(kept: KeptRecord, tokens: AccessTokens): void
  /** The session has ended here, and is off the shelf. */
  end(reason: LoggedOutReason): void
  wake(): void
  suspend(): void
  close(): void
}

export interface LiveSessionDeps extends Pick<Platform, "clock" | "random" | "lock" | "channel"> {
  readonly keep: Keep
  /** Wanted with every refresh. */
  readonly audiences: readonly string[]
  present(record: SessionRecord, audiences: readonly string[]): Promise<Tokens>
}

/** As the service takes them. */
const maxAudiences = 8
/** How long other tabs have to send tokens that they have. */
const askMs = 150
/** A service that refuses every token does not have them all refreshed. */
const betweenRefusalsMs = 5_000
const retryMs = { first: 1_000, longest: 60_000 }

export function createLiveSession(deps: LiveSessionDeps): LiveSession {
  const { clock, keep, channel, random } = deps
  const states = createChanges<SessionState>({ is: "starting" })
  const refresher = createRefresher(deps)
  let tokens: AccessTokens = new Map()
  let flight: { audiences: readonly string[]; done: Promise<void> } | undefined
  let cancelTimer = () => {}
  let failures = 0
  let lastRefusalMs = Number.NEGATIVE_INFINITY
  /** How often something was heard of the shelf. */
  let news = 0
  let isClosed = false

  const sessionId = () => (states.current.is === "signedIn" ? states.current.user.sessionId : undefined)
  const post = (message: Message) => channel?.post(encodeMessage(message))
  const usable = (audience: string) => usableToken(tokens, audience, clock.nowMs())

  function signedIn({ record: { user } }: KeptRecord): void {
    if (sessionId() === user.sessionId) return
    tokens = new Map()
    cancelTimer()
    states.set({ is: "signedIn", user })
  }

  function loggedOut(reason: LoggedOutReason): void {
    tokens = new Map()
    cancelTimer()
    if (states.current.is !== "loggedOut" || states.current.reason !== reason) states.set({ is: "loggedOut", reason })
  }

  /** Newer tokens win, whichever way they came. */
  function take(received: AccessTokens): void {
    const merged = new Map(tokens)
    for (const [audience, token] of received) {
      if (token.generation >= (merged.get(audience)?.generation ?? 0)) merged.set(audience, token)
    }
    tokens = merged
    failures = 0
    const atMs = refreshAtMs(new Map([...tokens].filter(([audience]) => usable(audience))), randomFraction(random))
    if (atMs !== undefined) schedule(atMs - clock.nowMs())
  }

  function schedule(inMs: number): void {
    cancelTimer()
    if (!isClosed) cancelTimer = clock.after(Math.max(0, inMs), refreshInBackground)
  }

  function refreshInBackground(): void {
    if (sessionId() === undefined) return
    refresh([], () => false).catch((error) => {
      const asked = error instanceof SignetError ? (error.retryAfterMs ?? 0) : 0
      const backoffMs = Math.min(retryMs.longest, retryMs.first * 2 ** failures++) * (0.5 + randomFraction(random) / 2)
      schedule(Math.max(asked, backoffMs))
    })
  }

  /** What is on the shelf, read after the last that was heard of it: a slow reading undoes no newer one. */
  async function read(): Promise<KeptRecord | undefined> {
    for (;;) {
      const before = news
      const kept = await keep.load()
      if (before === news) return kept
    }
  }

  /**
   * What is on the shelf is what counts: another tab may have signed in or out.
   *
   * @param reason Why a sign-in that this client knew is gone. Before the first reading it knew none.
   */
  async function reload(reason: LoggedOutReason): Promise<void> {
    news++
    try {
      const kept = await read()
      if (kept === undefined) loggedOut(reasonWithout(states.current, reason))
      else signedIn(kept)
    } catch {
      // A store that is locked for now ends nothing that is known.
      if (states.current.is === "starting") loggedOut("STORE_FAILED")
    }
  }

  /** Every audience that is in use, those that must be first. */
  function wanted(first: readonly string[]): string[] {
    const inUse = [...tokens.keys()].filter((audience) => usable(audience))
    return [...new Set([...first, ...deps.audiences, ...inUse])].slice(0, maxAudiences)
  }

  /** Joins a refresh that is under way, unless it asks for other audiences. */
  async function refresh(first: readonly string[], isEnough: () => boolean): Promise<void> {
    while (flight !== undefined && !first.every((audience) => flight?.audiences.includes(audience))) {
      await flight.done.catch(() => undefined)
    }
    if (flight === undefined) {
      const audiences = wanted(first)
      const done = refreshNow(audiences, isEnough).finally(() => {
        flight = undefined
      })
      flight = { audiences, done }
    }
    await flight.done
  }

  async function refreshNow(audiences: readonly string[], isEnough: () => boolean): Promise<void> {
    const since = newest(tokens)
    const isServed = () => isEnough() || (newest(tokens) > since && audiences.every((audience) => usable(audience)))
    const outcome = await refresher.refresh({
      async isEnough(kept) {
        signedIn(kept)
        return isServed() || (mayOthersHave(kept) && (await ask(kept, isServed)))
      },
      present: (record) => deps.present(record, audiences),
    })
    settle(outcome)
  }

  function settle(outcome: Outcome): void {
    news++
    switch (outcome.is) {
      case "enough":
        return
      case "refreshed":
        signedIn(outcome.kept)
        take(outcome.tokens)
        post({ is: "tokens", sessionId: outcome.kept.record.user.sessionId, tokens: outcome.tokens })
        return
      case "ended":
        loggedOut(outcome.reason)
        post(outcome)
        throw new SignetError(outcome.reason, "the session has ended")
      case "gone":
        loggedOut(states.current.is === "loggedOut" ? states.current.reason : "LOGGED_OUT_ELSEWHERE")
        throw new SignetError("NOT_SIGNED_IN", "nobody is signed in")
    }
  }

  /** The tokens that came with what is on the shelf are not ours, and still good. */
  const mayOthersHave = ({ record: { generation, tokensGoodUntilMs } }: KeptRecord) =>
    channel !== undefined && clock.nowMs() < tokensGoodUntilMs && newest(tokens) < generation

  async function ask({ record }: KeptRecord, isServed: () => boolean): Promise<boolean> {
    let stop = () => {}
    await new Promise<void>((resolve) => {
      const endWait = clock.after(askMs, resolve)
      // Heard after the listener that takes the tokens.
      const endHearing = channel?.subscribe(() => isServed() && resolve())
      stop = () => {
        endWait()
        endHearing?.()
      }
      post({ is: "ask", sessionId: record.user.sessionId })
    })
    stop()
    return isServed()
  }

  function hear(message: Message | undefined): void {
    switch (message?.is) {
      case "ask":
        if (message.sessionId !== sessionId()) return
        post({ is: "tokens", sessionId: message.sessionId, tokens: new Map([...tokens].filter(([of]) => usable(of))) })
        return
      case "tokens":
        if (message.sessionId === sessionId()) take(message.tokens)
        else void reload("LOGGED_OUT_ELSEWHERE").then(() => message.sessionId === sessionId() && take(message.tokens))
        return
      case "signedIn":
        void reload("LOGGED_OUT_ELSEWHERE")
        return
      case "ended":
        if (message.sessionId === sessionId()) void reload(message.reason)
        return
    }
  }

  const unsubscribe = channel?.subscribe((message) => hear(parseMessage(message)))
  const ready = reload("NOT_SIGNED_IN")

  return {
    states,
    ready,
    async token(audience, refused) {
      await ready
      const isNewer = (token: AccessToken | undefined) =>
        token !== undefined && (refused === undefined || token.generation > refused.generation)
      const isEnough = () => isNewer(usable(audience))
      if (!isEnough()) {
        if (refused !== undefined && flight === undefined) {
          if (Math.abs(clock.nowMs() - lastRefusalMs) < betweenRefusalsMs) return refused
          lastRefusalMs = clock.nowMs()
        }
        if (states.current.is === "loggedOut") await reload(states.current.reason)
        if (states.current.is !== "signedIn") throw notSignedIn(states.current)
        await refresh([audience], isEnough)
      }
      const token = usable(audience)
      if (token === undefined) throw new SignetError("ANSWER_INVALID", "the service gave no token for the audience")
      return token
    },
    begin(kept, received) {
      news++
      signedIn(kept)
      take(received)
      post({ is: "signedIn" })
      post({ is: "tokens", sessionId: kept.record.user.sessionId, tokens: received })
    },
    end(reason) {
      news++
      const ended = sessionId()
      loggedOut(reason)
      if (ended !== undefined) post({ is: "ended", sessionId: ended, reason: "LOGGED_OUT_ELSEWHERE" })
    },
    wake() {
      channel?.resume()
      void reload("LOGGED_OUT_ELSEWHERE").then(() => {
        const dueMs = refreshAtMs(tokens, 1)
        if (dueMs === undefined) return
        failures = 0
        if (dueMs <= clock.nowMs()) refreshInBackground()
        else schedule(dueMs - clock.nowMs())
      })
    },
    suspend() {
      cancelTimer()
      channel?.suspend()
    },
    close() {
      isClosed = true
      cancelTimer()
      unsubscribe?.()
      channel?.suspend()
      states.close()
    },
  }
}

function reasonWithout(before: SessionState, reason: LoggedOutReason): LoggedOutReason {
  switch (before.is) {
    case "starting":
      return "NOT_SIGNED_IN"
    case "signedIn":
      return reason
    case "loggedOut":
      return before.reason
  }
}

const notSignedIn = (state: SessionState): SignetError =>
  state.is === "loggedOut" && state.reason === "STORE_FAILED"
    ? new SignetError("STORE_FAILED", "what was kept of the sign-in does not open")
    : new SignetError("NOT_SIGNED_IN", "nobody is signed in")
