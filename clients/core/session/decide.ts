// The sign-in of a running program as a state machine without input or output. `live-session.ts` performs its effects.
import { type AccessTokens, refreshAtMs, usableToken } from "../access-tokens.ts"
import type { LoggedOutReason, ServiceReason } from "../errors.ts"
import type { Message } from "../messages.ts"
import type { SessionState, SignedInUser } from "../session.ts"

export interface LiveState {
  /** What the app sees. */
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
      if (event.facts !== state.facts) return { state, effects: [{ do: "read", read: event.read, facts: state.facts }] }
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
        chain(logOut(state, event.reason), (next) => ({
          state: next,
          effects: [post({ is: "ended", sessionId: event.sessionId, reason: event.reason })],
        })),
      )
    case "gone":
      return learned(logOut(state, state.view.is === "loggedOut" ? state.view.reason : "LOGGED_OUT_ELSEWHERE"))
    case "enough":
      return learned(stay(state))
    case "refreshFailed": {
      const backoffMs = Math.min(retryMs.longest, retryMs.first * 2 ** state.failures) * (0.5 + moment.chance / 2)
      const next = { ...state, failures: state.failures + 1 }
      return { state: next, effects: startTimer(next, Math.max(event.askedMs, backoffMs)) }
    }
    case "signedIn":
      return learned(logInWith(state, event, moment, [post({ is: "signedIn" }), tokensOf(event)]))
    case "signedOut":
      return learned(signOut(state, event.reason))
    case "rejected":
      return stay({ ...state, lastRefusalMs: moment.nowMs })
    case "timer":
      return { state, effects: refreshIfSignedIn(state) }
    case "wake":
      return chain({ state, effects: [{ do: "resumeChannel" }] }, (next) =>
        reread(next, { reason: "LOGGED_OUT_ELSEWHERE", next: { is: "resume" } }),
      )
    case "suspend":
      return { state, effects: [{ do: "stopTimer" }, { do: "suspendChannel" }] }
    case "close":
      return { state: { ...state, isClosed: true }, effects: [{ do: "stopTimer" }, { do: "end" }] }
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
      return {
        state,
        effects: [tokensOf({ user: { sessionId }, tokens: usableTokens(state.tokens, moment.nowMs) })],
      }
    case "tokens": {
      const { sessionId: of, tokens } = message
      if (of === sessionId) return take(state, tokens, moment)
      return reread(state, { reason: "LOGGED_OUT_ELSEWHERE", next: { is: "take", sessionId: of, tokens } })
    }
    case "signedIn":
      return reread(state, { reason: "LOGGED_OUT_ELSEWHERE" })
    case "ended":
      // The store is the authority: any page of the origin can post a message.
      return message.sessionId === sessionId ? reread(state, { reason: message.reason }) : stay(state)
  }
}

function afterRead(state: LiveState, user: SignedInUser | undefined, reason: LoggedOutReason): LiveDecision {
  return user === undefined ? logOut(state, reasonWithout(state.view, reason)) : logIn(state, user)
}

/** What follows a read. */
function continueAfter({ next: step }: Read, moment: Moment, decision: LiveDecision): LiveDecision {
  if (step === undefined) return decision
  return chain(decision, (state) => {
    if (step.is === "take")
      return step.sessionId === sessionIdOf(state) ? take(state, step.tokens, moment) : stay(state)
    const dueMs = refreshAtMs(state.tokens, 1)
    if (dueMs === undefined) return stay(state)
    const resumed = { ...state, failures: 0 }
    const isDue = dueMs <= moment.nowMs
    return {
      state: resumed,
      effects: isDue ? refreshIfSignedIn(resumed) : startTimer(resumed, dueMs - moment.nowMs),
    }
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
  if (view.is === "loggedOut" && view.reason === reason) return { state: without, effects: [{ do: "stopTimer" }] }
  return show(without, { is: "loggedOut", reason })
}

const show = (state: LiveState, view: SessionState): LiveDecision => ({
  state: state.isClosed ? state : { ...state, view },
  effects: state.isClosed ? [{ do: "stopTimer" }] : [{ do: "stopTimer" }, { do: "show", view }],
})

function logInWith(
  state: LiveState,
  { user, tokens }: { readonly user: SignedInUser; readonly tokens: AccessTokens },
  moment: Moment,
  posts: readonly LiveEffect[],
): LiveDecision {
  const taken = chain(logIn(state, user), (next) => take(next, tokens, moment))
  return { state: taken.state, effects: [...taken.effects, ...posts] }
}

function signOut(state: LiveState, reason: LoggedOutReason): LiveDecision {
  const sessionId = sessionIdOf(state)
  return chain(logOut(state, reason), (next) => ({
    state: next,
    effects: sessionId === undefined ? [] : [post({ is: "ended", sessionId, reason: "LOGGED_OUT_ELSEWHERE" })],
  }))
}

/** Accepts tokens: a newer generation wins, in any order of arrival. */
function take(state: LiveState, received: AccessTokens, { nowMs, chance }: Moment): LiveDecision {
  const tokens = new Map(state.tokens)
  for (const [audience, token] of received) {
    if (token.generation >= (tokens.get(audience)?.generation ?? 0)) tokens.set(audience, token)
  }
  const next = { ...state, tokens, failures: 0 }
  const atMs = refreshAtMs(usableTokens(tokens, nowMs), chance)
  return { state: next, effects: atMs === undefined ? [] : startTimer(next, atMs - nowMs) }
}

const usableTokens = (tokens: AccessTokens, nowMs: number): AccessTokens =>
  new Map([...tokens].filter(([audience]) => usableToken(tokens, audience, nowMs)))

const refreshIfSignedIn = (state: LiveState): readonly LiveEffect[] =>
  sessionIdOf(state) === undefined ? [] : [{ do: "refresh" }]

const startTimer = ({ isClosed }: LiveState, inMs: number): readonly LiveEffect[] =>
  isClosed ? [{ do: "stopTimer" }] : [{ do: "startTimer", inMs: Math.max(0, inMs) }]

function reread(state: LiveState, read: Read): LiveDecision {
  const { state: next } = learned(stay(state))
  return { state: next, effects: [{ do: "read", read, facts: next.facts }] }
}

const learned = ({ state, effects }: LiveDecision): LiveDecision => ({
  state: { ...state, facts: state.facts + 1 },
  effects,
})

const stay = (state: LiveState): LiveDecision => ({ state, effects: [] })

function chain({ state, effects }: LiveDecision, next: (state: LiveState) => LiveDecision): LiveDecision {
  const after = next(state)
  return { state: after.state, effects: [...effects, ...after.effects] }
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
