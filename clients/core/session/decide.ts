// The sign-in of a running program as a state machine without input or output. `live-session.ts` performs its effects.
import { type AccessTokens, refreshAtMs, usableToken } from "../access-tokens.ts"
import type { LoggedOutReason, ServiceReason } from "../errors.ts"
import type { Message } from "../messages.ts"
import type { SessionState, SignedInUser } from "../session.ts"

export interface LiveState {
  /** The state that the app sees. */
  readonly view: SessionState
  /** Access tokens of the signed-in session by audience. */
  readonly tokens: AccessTokens
  /** Background refreshes that failed in a row. */
  readonly failures: number
  /** Facts about the stored session that this client has learned. A read that another fact overtakes is repeated. */
  readonly facts: number
  /** When a service last rejected a valid token. Milliseconds. */
  readonly lastRefusalMs: number
  /** After `close` nothing is shown and no timer starts. */
  readonly isClosed: boolean
}

export type LiveEvent =
  /** The stored session may be another one. `reason`: of a sign-out if the store has none any more. */
  | { readonly on: "storeChanged"; readonly reason: LoggedOutReason }
  /** A read ended. `facts`: the count when it began. */
  | { readonly on: "read"; readonly read: Read; readonly facts: number; readonly user: SignedInUser | undefined }
  | { readonly on: "readFailed"; readonly read: Read }
  | { readonly on: "message"; readonly message: Message }
  /** A refresh has found this user in the store, under the lock. */
  | { readonly on: "found"; readonly user: SignedInUser }
  | { readonly on: "refreshed"; readonly user: SignedInUser; readonly tokens: AccessTokens }
  /** The service has ended the session. */
  | { readonly on: "ended"; readonly sessionId: string; readonly reason: ServiceReason }
  /** A refresh has found no session in the store. */
  | { readonly on: "gone" }
  /** Another tab has refreshed: its message has the tokens. */
  | { readonly on: "enough" }
  | { readonly on: "refreshFailed"; readonly askedMs: number }
  | { readonly on: "signedIn"; readonly user: SignedInUser; readonly tokens: AccessTokens }
  | { readonly on: "signedOut"; readonly reason: LoggedOutReason }
  /** A service rejects a token that is valid by its expiry. */
  | { readonly on: "rejected" }
  | { readonly on: "timer" }
  | { readonly on: "wake" }
  | { readonly on: "suspend" }
  | { readonly on: "close" }

/** A read of the store, and what follows it. */
export interface Read {
  readonly reason: LoggedOutReason
  readonly next?:
    | { readonly is: "take"; readonly sessionId: string; readonly tokens: AccessTokens }
    | { readonly is: "resume" }
}

export type LiveEffect =
  | { readonly do: "show"; readonly view: SessionState }
  | { readonly do: "post"; readonly message: Message }
  | { readonly do: "read"; readonly read: Read; readonly facts: number }
  /** Refreshes in the background. */
  | { readonly do: "refresh" }
  /** Starts the one timer anew. */
  | { readonly do: "startTimer"; readonly inMs: number }
  | { readonly do: "stopTimer" }
  | { readonly do: "resumeChannel" | "suspendChannel" | "end" }

/** Time and chance enter with the event. */
export interface Moment {
  readonly nowMs: number
  /** From 0 to 1. */
  readonly chance: number
}

interface LiveDecision {
  readonly state: LiveState
  readonly effects: readonly LiveEffect[]
}

const elsewhere = "LOGGED_OUT_ELSEWHERE"
const stopTimer: LiveEffect = { do: "stopTimer" }
const retryMs = { first: 1_000, longest: 60_000 }

export const firstState: LiveState = {
  view: { is: "starting" },
  tokens: new Map(),
  failures: 0,
  facts: 0,
  lastRefusalMs: Number.NEGATIVE_INFINITY,
  isClosed: false,
}

export const sessionIdOf = ({ view }: Pick<LiveState, "view">): string | undefined =>
  view.is === "signedIn" ? view.user.sessionId : undefined

export function decide(state: LiveState, event: LiveEvent, moment: Moment): LiveDecision {
  switch (event.on) {
    case "storeChanged":
      return reread(state, { reason: event.reason })
    case "read":
      // A slow read must not undo a newer fact.
      if (event.facts !== state.facts) return to(state, readEffect(state, event.read))
      return continueAfter(event.read, moment, afterRead(state, event.user, event.read.reason))
    case "readFailed":
      // A store that is locked for a moment ends no known session.
      return continueAfter(
        event.read,
        moment,
        state.view.is === "starting" ? logOut(state, "STORE_FAILED") : stay(state),
      )
    case "message":
      return afterMessage(state, event.message, moment)
    case "found":
      return logIn(state, event.user)
    case "refreshed":
      return learned(logInWith(state, event, moment, [tokensOf(event)]))
    case "ended":
      return learned(
        followedBy(
          logOut(state, event.reason),
          post({ is: "ended", sessionId: event.sessionId, reason: event.reason }),
        ),
      )
    case "gone":
      return learned(logOut(state, state.view.is === "loggedOut" ? state.view.reason : elsewhere))
    case "enough":
      return learned(stay(state))
    case "refreshFailed": {
      const backoffMs = Math.min(retryMs.longest, retryMs.first * 2 ** state.failures) * (0.5 + moment.chance / 2)
      const next = { ...state, failures: state.failures + 1 }
      return to(next, startTimer(next, Math.max(event.askedMs, backoffMs)))
    }
    case "signedIn":
      return learned(logInWith(state, event, moment, [post({ is: "signedIn" }), tokensOf(event)]))
    case "signedOut":
      return learned(signOut(state, event.reason))
    case "rejected":
      return stay({ ...state, lastRefusalMs: moment.nowMs })
    case "timer":
      return refreshIfSignedIn(state)
    case "wake":
      return chain(to(state, { do: "resumeChannel" }), (same) =>
        reread(same, { reason: elsewhere, next: { is: "resume" } }),
      )
    case "suspend":
      return to(state, stopTimer, { do: "suspendChannel" })
    case "close":
      return to({ ...state, isClosed: true }, stopTimer, { do: "end" })
  }
}

/** The audiences of a refresh: those that must be first, then all that the app uses. */
export function audiencesOf(
  { tokens }: LiveState,
  { first, configured }: { readonly first: readonly string[]; readonly configured: readonly string[] },
  nowMs: number,
): string[] {
  const inUse = [...tokens.keys()].filter((audience) => usableToken(tokens, audience, nowMs))
  return [...new Set([...first, ...configured, ...inUse])].slice(0, maxAudiences)
}

/** The service's limit for one refresh. */
const maxAudiences = 8
/** A service that rejects every token causes one refresh in this time. */
const betweenRefusalsMs = 5_000

/** True if a service rejected another token a moment ago: a refresh now would not help. */
export const isRefusedAgain = ({ lastRefusalMs }: LiveState, nowMs: number): boolean =>
  Math.abs(nowMs - lastRefusalMs) < betweenRefusalsMs

function afterMessage(state: LiveState, message: Message, moment: Moment): LiveDecision {
  const sessionId = sessionIdOf(state)
  switch (message.is) {
    case "ask":
      if (message.sessionId !== sessionId) return stay(state)
      return to(state, tokensOf({ user: { sessionId }, tokens: usableTokens(state.tokens, moment.nowMs) }))
    case "tokens": {
      const { sessionId: of, tokens } = message
      if (of === sessionId) return take(state, tokens, moment)
      return reread(state, { reason: elsewhere, next: { is: "take", sessionId: of, tokens } })
    }
    case "signedIn":
      return reread(state, { reason: elsewhere })
    case "ended":
      // The store is the authority: any page of the origin can post a message.
      return message.sessionId === sessionId ? reread(state, { reason: message.reason }) : stay(state)
  }
}

function afterRead(state: LiveState, user: SignedInUser | undefined, reason: LoggedOutReason): LiveDecision {
  return user === undefined ? logOut(state, reasonWithout(state.view, reason)) : logIn(state, user)
}

/** The step after a read. */
function continueAfter({ next: step }: Read, moment: Moment, decision: LiveDecision): LiveDecision {
  if (step === undefined) return decision
  return chain(decision, (state) => {
    if (step.is === "take")
      return step.sessionId === sessionIdOf(state) ? take(state, step.tokens, moment) : stay(state)
    const dueMs = refreshAtMs(state.tokens, 1)
    if (dueMs === undefined) return stay(state)
    const resumed = { ...state, failures: 0 }
    const isDue = dueMs <= moment.nowMs
    return isDue ? refreshIfSignedIn(resumed) : to(resumed, startTimer(resumed, dueMs - moment.nowMs))
  })
}

/** Shows a user. The tokens of another session are dropped. */
function logIn(state: LiveState, user: SignedInUser): LiveDecision {
  if (sessionIdOf(state) === user.sessionId) return stay(state)
  return show({ ...state, tokens: new Map() }, { is: "signedIn", user })
}

function logOut(state: LiveState, reason: LoggedOutReason): LiveDecision {
  const { view } = state
  const without = { ...state, tokens: new Map() }
  if (view.is === "loggedOut" && view.reason === reason) return to(without, stopTimer)
  return show(without, { is: "loggedOut", reason })
}

const show = (state: LiveState, view: SessionState): LiveDecision =>
  state.isClosed ? to(state, stopTimer) : to({ ...state, view }, stopTimer, { do: "show", view })

function logInWith(
  state: LiveState,
  { user, tokens }: { readonly user: SignedInUser; readonly tokens: AccessTokens },
  moment: Moment,
  posts: readonly LiveEffect[],
): LiveDecision {
  return followedBy(
    chain(logIn(state, user), (next) => take(next, tokens, moment)),
    ...posts,
  )
}

function signOut(state: LiveState, reason: LoggedOutReason): LiveDecision {
  const sessionId = sessionIdOf(state)
  const out = logOut(state, reason)
  return sessionId === undefined ? out : followedBy(out, post({ is: "ended", sessionId, reason: elsewhere }))
}

/** Accepts tokens: a newer generation wins, in any order of arrival. */
function take(state: LiveState, received: AccessTokens, { nowMs, chance }: Moment): LiveDecision {
  const tokens = new Map(state.tokens)
  for (const [audience, token] of received) {
    if (token.generation >= (tokens.get(audience)?.generation ?? 0)) tokens.set(audience, token)
  }
  const next = { ...state, tokens, failures: 0 }
  const atMs = refreshAtMs(usableTokens(tokens, nowMs), chance)
  return atMs === undefined ? stay(next) : to(next, startTimer(next, atMs - nowMs))
}

const usableTokens = (tokens: AccessTokens, nowMs: number): AccessTokens =>
  new Map([...tokens].filter(([audience]) => usableToken(tokens, audience, nowMs)))

const refreshIfSignedIn = (state: LiveState): LiveDecision =>
  sessionIdOf(state) === undefined ? stay(state) : to(state, { do: "refresh" })

const startTimer = ({ isClosed }: LiveState, inMs: number): LiveEffect =>
  isClosed ? stopTimer : { do: "startTimer", inMs: Math.max(0, inMs) }

function reread(state: LiveState, read: Read): LiveDecision {
  const { state: next } = learned(stay(state))
  return to(next, readEffect(next, read))
}

const readEffect = ({ facts }: LiveState, read: Read): LiveEffect => ({ do: "read", read, facts })

const learned = ({ state, effects }: LiveDecision): LiveDecision => to({ ...state, facts: state.facts + 1 }, ...effects)

const to = (state: LiveState, ...effects: readonly LiveEffect[]): LiveDecision => ({ state, effects })

const stay = (state: LiveState): LiveDecision => to(state)

/** The same decision, with further effects. */
const followedBy = ({ state, effects }: LiveDecision, ...more: readonly LiveEffect[]): LiveDecision =>
  to(state, ...effects, ...more)

function chain({ state, effects }: LiveDecision, next: (state: LiveState) => LiveDecision): LiveDecision {
  const after = next(state)
  return to(after.state, ...effects, ...after.effects)
}

const post = (message: Message): LiveEffect => ({ do: "post", message })

const tokensOf = ({
  user: { sessionId },
  tokens,
}: {
  readonly user: Pick<SignedInUser, "sessionId">
  readonly tokens: AccessTokens
}): LiveEffect => post({ is: "tokens", sessionId, tokens })

/** @param reason of a sign-out elsewhere. Before the first read there is no session that could end. */
function reasonWithout(view: SessionState, reason: LoggedOutReason): LoggedOutReason {
  switch (view.is) {
    case "starting":
      return "NOT_SIGNED_IN"
    case "signedIn":
      return reason
    case "loggedOut":
      return view.reason
  }
}
