import { describe, expect, test } from "vitest"
import type { AccessTokens } from "../access-tokens.ts"
import type { SignedInUser } from "../session.ts"
import {
  audiencesOf,
  decide,
  firstState,
  isRefusedAgain,
  type LiveEffect,
  type LiveEvent,
  type LiveState,
  type Read,
} from "./decide.ts"

const nowMs = 1_000_000
const lifeMs = 600_000
const moment = { nowMs, chance: 0.5 }
/** After 80 percent of the life of a token. */
const dueInMs = 0.8 * lifeMs

const userOf = (sessionId: string): SignedInUser => ({
  ...{ sessionId, identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
})
const ann = userOf("ses_1")
const ben = userOf("ses_2")
const tokensOf = (generation: number, { audience = "auth", sinceMs = nowMs } = {}): AccessTokens =>
  new Map([[audience, { token: `${audience}${generation}`, generation, sinceMs, goodUntilMs: sinceMs + lifeMs }]])
const one = tokensOf(1)
const two = tokensOf(2)

const signedIn: LiveState = { ...firstState, view: { is: "signedIn", user: ann }, tokens: one, failures: 2, facts: 5 }
const loggedOut: LiveState = { ...firstState, view: { is: "loggedOut", reason: "LOGGED_OUT" }, facts: 5 }
const closed: LiveState = { ...signedIn, isClosed: true }

const elsewhere: Read = { reason: "LOGGED_OUT_ELSEWHERE" }
const take: Read = { ...elsewhere, next: { is: "take", sessionId: "ses_1", tokens: two } }
const resume: Read = { ...elsewhere, next: { is: "resume" } }
const stop: LiveEffect = { do: "stopTimer" }
const start = (inMs: number): LiveEffect => ({ do: "startTimer", inMs })
const show = (view: LiveState["view"]): LiveEffect => ({ do: "show", view })
const postTokens = (sessionId: string, tokens: AccessTokens): LiveEffect => ({
  do: "post",
  message: { is: "tokens", sessionId, tokens },
})
const viewOf = (user: SignedInUser) => ({ is: "signedIn", user }) as const
const out = (reason: "LOGGED_OUT" | "LOGGED_OUT_ELSEWHERE" | "NOT_SIGNED_IN" | "STORE_FAILED" | "SESSION_REVOKED") =>
  ({ is: "loggedOut", reason }) as const
const none: AccessTokens = new Map()

type Row = readonly [
  name: string,
  before: LiveState,
  event: LiveEvent,
  after: Partial<LiveState>,
  effects: readonly LiveEffect[],
]

const read = (of: Read, user: SignedInUser | undefined, facts: number): LiveEvent => ({
  on: "read",
  read: of,
  facts,
  user,
})

const reads: readonly Row[] = [
  [
    "a changed store is read, and earlier reads are overtaken",
    signedIn,
    { on: "storeChanged", reason: "LOGGED_OUT" },
    { facts: 6 },
    [{ do: "read", read: { reason: "LOGGED_OUT" }, facts: 6 }],
  ],
  [
    "a read that another fact overtook is repeated",
    signedIn,
    read(elsewhere, ben, 4),
    {},
    [{ do: "read", read: elsewhere, facts: 5 }],
  ],
  ["a read of the same session changes nothing", signedIn, read(elsewhere, ann, 5), {}, []],
  [
    "another session drops the tokens of the one before",
    signedIn,
    read(elsewhere, ben, 5),
    { view: viewOf(ben), tokens: none },
    [stop, show(viewOf(ben))],
  ],
  [
    "the first read finds a session",
    firstState,
    read(elsewhere, ann, 0),
    { view: viewOf(ann) },
    [stop, show(viewOf(ann))],
  ],
  [
    "the first read finds no session, and none has ended",
    firstState,
    read(elsewhere, undefined, 0),
    { view: out("NOT_SIGNED_IN") },
    [stop, show(out("NOT_SIGNED_IN"))],
  ],
  [
    "a session that is gone from the store has ended for the reason of the read",
    signedIn,
    read(elsewhere, undefined, 5),
    { view: out("LOGGED_OUT_ELSEWHERE"), tokens: none },
    [stop, show(out("LOGGED_OUT_ELSEWHERE"))],
  ],
  ["a sign-out keeps its reason", loggedOut, read(elsewhere, undefined, 5), {}, [stop]],
  ["a store that fails ends no known session", signedIn, { on: "readFailed", read: elsewhere }, {}, []],
  [
    "a store that fails at the first read is reported",
    firstState,
    { on: "readFailed", read: elsewhere },
    { view: out("STORE_FAILED") },
    [stop, show(out("STORE_FAILED"))],
  ],
  [
    "tokens that arrived before their session are accepted after the read",
    { ...firstState, facts: 1 },
    read(take, ann, 1),
    { view: viewOf(ann), tokens: two },
    [stop, show(viewOf(ann)), start(dueInMs)],
  ],
  [
    "tokens of a session that the store does not have are dropped",
    { ...firstState, facts: 1 },
    read(take, ben, 1),
    { view: viewOf(ben) },
    [stop, show(viewOf(ben))],
  ],
]

const messages: readonly Row[] = [
  [
    "a tab that asks gets the usable tokens",
    { ...signedIn, tokens: new Map([...one, ...tokensOf(1, { audience: "old", sinceMs: nowMs - lifeMs })]) },
    { on: "message", message: { is: "ask", sessionId: "ses_1" } },
    {},
    [postTokens("ses_1", one)],
  ],
  [
    "a tab of another session gets no token",
    signedIn,
    { on: "message", message: { is: "ask", sessionId: "ses_2" } },
    {},
    [],
  ],
  [
    "a tab that asks gets nothing from a client that is not signed in",
    loggedOut,
    { on: "message", message: { is: "ask", sessionId: "ses_1" } },
    {},
    [],
  ],
  [
    "newer tokens of the session are accepted",
    signedIn,
    { on: "message", message: { is: "tokens", sessionId: "ses_1", tokens: two } },
    { tokens: two, failures: 0 },
    [start(dueInMs)],
  ],
  [
    "older tokens of the session do not replace newer ones",
    { ...signedIn, tokens: two },
    { on: "message", message: { is: "tokens", sessionId: "ses_1", tokens: one } },
    { failures: 0 },
    [start(dueInMs)],
  ],
  [
    "tokens of another session wait for a read",
    signedIn,
    { on: "message", message: { is: "tokens", sessionId: "ses_2", tokens: two } },
    { facts: 6 },
    [
      {
        do: "read",
        read: { ...elsewhere, next: { is: "take", sessionId: "ses_2", tokens: two } },
        facts: 6,
      },
    ],
  ],
  [
    "a sign-in in another tab is read from the store",
    signedIn,
    { on: "message", message: { is: "signedIn" } },
    { facts: 6 },
    [{ do: "read", read: elsewhere, facts: 6 }],
  ],
  [
    "an end that another tab reports is read from the store",
    signedIn,
    { on: "message", message: { is: "ended", sessionId: "ses_1", reason: "SESSION_REVOKED" } },
    { facts: 6 },
    [{ do: "read", read: { reason: "SESSION_REVOKED" }, facts: 6 }],
  ],
  [
    "the end of another session changes nothing",
    signedIn,
    { on: "message", message: { is: "ended", sessionId: "ses_2", reason: "SESSION_REVOKED" } },
    {},
    [],
  ],
]

const refreshes: readonly Row[] = [
  ["a refresh that finds the session changes nothing", signedIn, { on: "found", user: ann }, {}, []],
  [
    "a refresh that finds another session shows it",
    signedIn,
    { on: "found", user: ben },
    { view: viewOf(ben), tokens: none },
    [stop, show(viewOf(ben))],
  ],
  [
    "a refresh brings tokens, and other tabs get them",
    signedIn,
    { on: "refreshed", user: ann, tokens: two },
    { tokens: two, failures: 0, facts: 6 },
    [start(dueInMs), postTokens("ses_1", two)],
  ],
  [
    "a session that the service ends is ended in every tab",
    signedIn,
    { on: "ended", sessionId: "ses_1", reason: "SESSION_REVOKED" },
    { view: out("SESSION_REVOKED"), tokens: none, facts: 6 },
    [
      stop,
      show(out("SESSION_REVOKED")),
      { do: "post", message: { is: "ended", sessionId: "ses_1", reason: "SESSION_REVOKED" } },
    ],
  ],
  [
    "a refresh that finds no session reports a sign-out elsewhere",
    signedIn,
    { on: "gone" },
    { view: out("LOGGED_OUT_ELSEWHERE"), tokens: none, facts: 6 },
    [stop, show(out("LOGGED_OUT_ELSEWHERE"))],
  ],
  ["a refresh that finds no session keeps the reason of a sign-out", loggedOut, { on: "gone" }, { facts: 6 }, [stop]],
  ["another tab's refresh overtakes reads", signedIn, { on: "enough" }, { facts: 6 }, []],
  [
    "a failed refresh is retried after a growing delay",
    signedIn,
    { on: "refreshFailed", askedMs: 0 },
    { failures: 3 },
    [start(3_000)],
  ],
  [
    "a failed refresh is retried after a minute at most",
    { ...signedIn, failures: 20 },
    { on: "refreshFailed", askedMs: 0 },
    { failures: 21 },
    [start(45_000)],
  ],
  [
    "a failed refresh waits as the service asks",
    signedIn,
    { on: "refreshFailed", askedMs: 90_000 },
    { failures: 3 },
    [start(90_000)],
  ],
  ["a due refresh of a session starts", signedIn, { on: "timer" }, {}, [{ do: "refresh" }]],
  ["a due refresh without a session does not start", loggedOut, { on: "timer" }, {}, []],
  ["a rejected token is remembered", signedIn, { on: "rejected" }, { lastRefusalMs: nowMs }, []],
]

const calls: readonly Row[] = [
  [
    "a sign-in is shown, its tokens are accepted, and the other tabs get both",
    loggedOut,
    { on: "signedIn", user: ann, tokens: one },
    { view: viewOf(ann), tokens: one, facts: 6 },
    [stop, show(viewOf(ann)), start(dueInMs), { do: "post", message: { is: "signedIn" } }, postTokens("ses_1", one)],
  ],
  [
    "a sign-out drops the tokens, and ends the session in the other tabs",
    signedIn,
    { on: "signedOut", reason: "LOGGED_OUT" },
    { view: out("LOGGED_OUT"), tokens: none, facts: 6 },
    [
      stop,
      show(out("LOGGED_OUT")),
      { do: "post", message: { is: "ended", sessionId: "ses_1", reason: "LOGGED_OUT_ELSEWHERE" } },
    ],
  ],
  ["a second sign-out is not reported", loggedOut, { on: "signedOut", reason: "LOGGED_OUT" }, { facts: 6 }, [stop]],
  [
    "a page that wakes reads the store",
    signedIn,
    { on: "wake" },
    { facts: 6 },
    [{ do: "resumeChannel" }, { do: "read", read: resume, facts: 6 }],
  ],
  [
    "after the read a due refresh starts at once",
    { ...signedIn, tokens: tokensOf(1, { sinceMs: nowMs - lifeMs }) },
    read(resume, ann, 5),
    { failures: 0 },
    [{ do: "refresh" }],
  ],
  [
    "after the read the timer of a later refresh starts anew",
    signedIn,
    read(resume, ann, 5),
    { failures: 0 },
    [start(0.9 * lifeMs)],
  ],
  [
    "a page that wakes without tokens has nothing to refresh",
    { ...signedIn, tokens: none },
    read(resume, ann, 5),
    {},
    [],
  ],
  [
    "a page that wakes while its store fails refreshes all the same",
    signedIn,
    { on: "readFailed", read: resume },
    { failures: 0 },
    [start(0.9 * lifeMs)],
  ],
  ["a suspended page has no timer and no channel", signedIn, { on: "suspend" }, {}, [stop, { do: "suspendChannel" }]],
  ["a closed client has no timer", signedIn, { on: "close" }, { isClosed: true }, [stop, { do: "end" }]],
  [
    "a closed client accepts the tokens of a refresh that was under way, and starts no timer",
    closed,
    { on: "refreshed", user: ann, tokens: two },
    { tokens: two, failures: 0, facts: 6 },
    [stop, postTokens("ses_1", two)],
  ],
  [
    "a closed client shows nothing",
    closed,
    { on: "signedOut", reason: "LOGGED_OUT" },
    { tokens: none, facts: 6 },
    [stop, { do: "post", message: { is: "ended", sessionId: "ses_1", reason: "LOGGED_OUT_ELSEWHERE" } }],
  ],
]

describe.each([
  ["the store", reads],
  ["another tab", messages],
  ["a refresh", refreshes],
  ["the program", calls],
])("a session after an event from %s", (_, rows) => {
  test.each(rows)("%s", (__, before, event, after, effects) => {
    expect(decide(before, event, moment)).toEqual({ state: { ...before, ...after }, effects })
  })
})

describe("a refresh requests tokens", () => {
  const state = { ...signedIn, tokens: new Map([...one, ...tokensOf(1, { audience: "svc" })]) }

  test("for the missing audience first, then for all that are configured or in use, each once", () => {
    expect(audiencesOf(state, { first: ["new"], configured: ["auth", "other"] }, nowMs)).toEqual([
      ...["new", "auth", "other", "svc"],
    ])
  })

  test("for no audience whose token has expired", () => {
    expect(audiencesOf(state, { first: [], configured: ["auth"] }, nowMs + lifeMs)).toEqual(["auth"])
  })

  test("for eight audiences at most", () => {
    const configured = Array.from({ length: 9 }, (_, i) => `svc-${i}`)
    expect(audiencesOf(state, { first: ["new"], configured }, nowMs)).toEqual(["new", ...configured.slice(0, 7)])
  })
})

test("a service that rejects every token causes one refresh in five seconds, whichever way the clock jumps", () => {
  const rejected = { ...signedIn, lastRefusalMs: nowMs }
  expect(isRefusedAgain(rejected, nowMs + 4_999)).toBe(true)
  expect(isRefusedAgain(rejected, nowMs - 4_999)).toBe(true)
  expect(isRefusedAgain(rejected, nowMs + 5_000)).toBe(false)
  expect(isRefusedAgain(rejected, nowMs - 5_000)).toBe(false)
  expect(isRefusedAgain(signedIn, nowMs)).toBe(false)
})

test("a sign-out shows its own reason after another one", () => {
  const before: LiveState = { ...loggedOut, view: out("NOT_SIGNED_IN") }
  expect(decide(before, { on: "signedOut", reason: "LOGGED_OUT" }, moment).state.view).toEqual(out("LOGGED_OUT"))
})
