// The sign-in of a running program: its state, its access tokens, and the time of the next refresh. `session/decide.ts`
// decides; this file performs the effects.
import { type AccessToken, type AccessTokens, newest, usableToken } from "./access-tokens.ts"
import type { Tokens } from "./auth-calls.ts"
import type { Platform } from "./client.ts"
import { type LoggedOutReason, SignetError } from "./errors.ts"
import { encodeMessage, type Message, parseMessage } from "./messages.ts"
import { createObservableValue, type ObservableValue } from "./observable-value.ts"
import type { SessionRecord } from "./record.ts"
import { createRefresher, type RefreshSteps } from "./refresh.ts"
import {
  audiencesOf,
  decide,
  firstState,
  isRefusedAgain,
  type LiveEffect,
  type LiveEvent,
  type LiveState,
} from "./session/decide.ts"
import type { SessionState } from "./session.ts"
import type { SessionStore, StoredSession } from "./session-store.ts"
import { randomFraction } from "./text.ts"

export interface LiveSession {
  readonly states: ObservableValue<SessionState>
  readonly ready: Promise<void>
  /**
   * Returns a token that is valid for a call.
   *
   * @param refused a valid token that a service rejected: another one is requested.
   */
  token(audience: string, refused?: AccessToken): Promise<AccessToken>
  /** Returns another token than the current one: the service states other claims since. */
  renewedToken(audience: string): Promise<AccessToken>
  /** Accepts a sign-in that is stored. */
  begin(kept: StoredSession, tokens: AccessTokens): void
  /** Accepts a sign-out, after the stored session is removed. */
  end(reason: LoggedOutReason): void
  wake(): void
  suspend(): void
  close(): void
}

export interface LiveSessionDeps extends Pick<Platform, "clock" | "random" | "lock" | "channel"> {
  readonly sessions: SessionStore
  /** Requested with every refresh. */
  readonly audiences: readonly string[]
  present(record: SessionRecord, audiences: readonly string[]): Promise<Tokens>
}

/** How long other tabs have to send tokens that they have. */
const askMs = 150

/** The machine of a session: its state, and the one way to change it. */
interface Machine {
  readonly state: LiveState
  readonly states: ObservableValue<SessionState>
  /** Resolves when the reads that the event caused have ended. */
  apply(event: LiveEvent): Promise<void>
}

export function createLiveSession(deps: LiveSessionDeps): LiveSession {
  const { clock, channel } = deps
  let unsubscribe = () => {}
  const machine = createMachine(deps, {
    refresh: () => refresh([], () => false),
    end: () => unsubscribe(),
  })
  const refresh = createSharedRefresh(deps, machine)
  if (channel !== undefined) {
    unsubscribe = channel.subscribe((posted) => {
      const message = parseMessage(posted)
      if (message !== undefined) void machine.apply({ on: "message", message })
    })
  }
  const ready = machine.apply({ on: "storeChanged", reason: "NOT_SIGNED_IN" })
  const usable = (audience: string) => usableToken(machine.state.tokens, audience, clock.nowMs())

  /** Nothing awaits before the refresh of a signed-in user: two calls that were rejected at once share it. */
  async function newerToken(audience: string, than: AccessToken | undefined): Promise<AccessToken> {
    const isEnough = () => isNewer(usable(audience), than)
    if (!isEnough()) {
      if (machine.state.view.is !== "signedIn") await ensureSignedIn(machine)
      await refresh([audience], isEnough)
    }
    const token = usable(audience)
    if (token === undefined) throw new SignetError("ANSWER_INVALID", "the service returned no token for the audience")
    return token
  }

  return {
    states: machine.states,
    ready,
    async token(audience, refused) {
      await ready
      if (refused !== undefined && !isNewer(usable(audience), refused) && !refresh.isUnderWay()) {
        if (isRefusedAgain(machine.state, clock.nowMs())) return refused
        void machine.apply({ on: "rejected" })
      }
      return newerToken(audience, refused)
    },
    async renewedToken(audience) {
      await ready
      return newerToken(audience, usable(audience))
    },
    begin: ({ record: { user } }, tokens) => void machine.apply({ on: "signedIn", user, tokens }),
    end: (reason) => void machine.apply({ on: "signedOut", reason }),
    wake: () => void machine.apply({ on: "wake" }),
    suspend: () => void machine.apply({ on: "suspend" }),
    close: () => void machine.apply({ on: "close" }),
  }
}

const isNewer = (token: AccessToken | undefined, than: AccessToken | undefined): boolean =>
  token !== undefined && (than === undefined || token.generation > than.generation)

/** @throws SignetError NOT_SIGNED_IN, STORE_FAILED */
async function ensureSignedIn(machine: Machine): Promise<void> {
  const { view } = machine.state
  if (view.is === "loggedOut") await machine.apply({ on: "storeChanged", reason: view.reason })
  if (machine.state.view.is !== "signedIn") throw notSignedIn(machine.state.view)
}

/** Performs the effects of each decision in their order. Nothing awaits between an event and its state. */
function createMachine(
  { clock, random, sessions, channel }: LiveSessionDeps,
  host: { readonly refresh: () => Promise<void>; readonly end: () => void },
): Machine {
  const states = createObservableValue<SessionState>(firstState.view)
  let state = firstState
  let cancelTimer = () => {}

  function apply(event: LiveEvent): Promise<void> {
    const decision = decide(state, event, { nowMs: clock.nowMs(), chance: randomFraction(random) })
    state = decision.state
    return Promise.all(decision.effects.map(perform)).then(() => undefined)
  }

  function perform(effect: LiveEffect): Promise<void> | undefined {
    switch (effect.do) {
      case "show":
        states.set(effect.view)
        return undefined
      case "post":
        channel?.post(encodeMessage(effect.message))
        return undefined
      case "read": {
        const { read, facts } = effect
        return sessions
          .load()
          .then(
            (kept): LiveEvent => ({ on: "read", read, facts, user: kept?.record.user }),
            (): LiveEvent => ({ on: "readFailed", read }),
          )
          .then(apply)
      }
      case "refresh":
        host.refresh().catch((error: unknown) => {
          const askedMs = error instanceof SignetError ? (error.retryAfterMs ?? 0) : 0
          return apply({ on: "refreshFailed", askedMs })
        })
        return undefined
      case "startTimer":
        cancelTimer()
        cancelTimer = clock.after(effect.inMs, () => void apply({ on: "timer" }))
        return undefined
      case "stopTimer":
        cancelTimer()
        return undefined
      case "resumeChannel":
        channel?.resume()
        return undefined
      case "suspendChannel":
        channel?.suspend()
        return undefined
      case "end":
        host.end()
        channel?.suspend()
        states.close()
        return undefined
    }
  }

  return {
    get state() {
      return state
    },
    states,
    apply,
  }
}

interface SharedRefresh {
  /**
   * Joins a refresh that is under way, unless it lacks one of the audiences.
   *
   * @param isEnough true if no refresh is needed any more.
   */
  (first: readonly string[], isEnough: () => boolean): Promise<void>
  isUnderWay(): boolean
}

function createSharedRefresh(deps: LiveSessionDeps, machine: Machine): SharedRefresh {
  const { clock, audiences: configured } = deps
  const refresher = createRefresher(deps)
  let flight: { audiences: readonly string[]; done: Promise<void> } | undefined

  async function refreshNow(audiences: readonly string[], isEnough: () => boolean): Promise<void> {
    const since = newest(machine.state.tokens)
    const areUsable = () => audiences.every((one) => usableToken(machine.state.tokens, one, clock.nowMs()))
    const isServed = () => isEnough() || (newest(machine.state.tokens) > since && areUsable())
    const steps: RefreshSteps = {
      async isEnough(kept) {
        void machine.apply({ on: "found", user: kept.record.user })
        return isServed() || (mayOthersHave(deps, machine, kept) && (await askTabs(deps, kept, isServed)))
      },
      present: (record) => deps.present(record, audiences),
    }
    const outcome = await refresher.refresh(steps)
    switch (outcome.is) {
      case "enough":
        return void machine.apply({ on: "enough" })
      case "refreshed":
        return void machine.apply({ on: "refreshed", user: outcome.kept.record.user, tokens: outcome.tokens })
      case "ended": {
        const { sessionId, reason } = outcome
        void machine.apply({ on: "ended", sessionId, reason })
        throw new SignetError(reason, "the session has ended: sign in again")
      }
      case "gone":
        void machine.apply({ on: "gone" })
        throw new SignetError("NOT_SIGNED_IN", "no user is signed in")
    }
  }

  async function refresh(first: readonly string[], isEnough: () => boolean): Promise<void> {
    while (flight !== undefined && !first.every((audience) => flight?.audiences.includes(audience))) {
      await flight.done.catch(() => undefined)
    }
    if (flight === undefined) {
      const audiences = audiencesOf(machine.state, { first, configured }, clock.nowMs())
      const done = refreshNow(audiences, isEnough).finally(() => {
        flight = undefined
      })
      flight = { audiences, done }
    }
    await flight.done
  }

  return Object.assign(refresh, { isUnderWay: () => flight !== undefined })
}

/** True if another tab may have the tokens that were issued with the stored record. */
const mayOthersHave = (
  { channel, clock }: LiveSessionDeps,
  { state }: Machine,
  { record: { generation, tokensGoodUntilMs } }: StoredSession,
): boolean => channel !== undefined && clock.nowMs() < tokensGoodUntilMs && newest(state.tokens) < generation

/** Asks the other tabs for tokens. @returns true if a tab has sent them in time. */
async function askTabs(
  { channel, clock }: LiveSessionDeps,
  { record }: StoredSession,
  isServed: () => boolean,
): Promise<boolean> {
  const ask: Message = { is: "ask", sessionId: record.user.sessionId }
  let stop = () => {}
  await new Promise<void>((resolve) => {
    const endWait = clock.after(askMs, resolve)
    // Hears a message after the listener that accepts its tokens.
    const endHearing = channel?.subscribe(() => isServed() && resolve())
    stop = () => {
      endWait()
      endHearing?.()
    }
    channel?.post(encodeMessage(ask))
  })
  stop()
  return isServed()
}

const notSignedIn = (state: SessionState): SignetError =>
  state.is === "loggedOut" && state.reason === "STORE_FAILED"
    ? new SignetError("STORE_FAILED", "the stored sign-in cannot be opened")
    : new SignetError("NOT_SIGNED_IN", "no user is signed in")
