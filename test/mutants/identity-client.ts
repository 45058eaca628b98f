import type { Mutant } from "./mutant.ts"

const redirects = "test/story/redirect-sign-in.test.ts"

const live = { file: "clients/core/live-session.ts", test: "clients/core/live-session.test.ts" }
const decisions = { file: "clients/core/session/decide.ts", test: "clients/core/live-session.test.ts" }
const turn = { file: "clients/core/session/refresh-turn.ts", test: "clients/core/live-session.test.ts" }
const refresh = { file: "clients/core/refresh.ts", test: "clients/core/live-session.test.ts" }
const calls = { file: "clients/core/transport.ts", test: "clients/core/transport.test.ts" }
const faults = "test/story/client-faults.test.ts"
const sessions = "test/story/client-session.test.ts"
const signIns = "test/story/client-sign-in.test.ts"

/**
 * Mutants of the identity client: it loses a session, keeps an ended session or sends a token to the wrong recipient.
 */
export const identityClientMutants: readonly Mutant[] = [
  {
    fault: "a retry key is made when the token is presented",
    file: "clients/core/auth-calls.ts",
    from: "{ refreshToken, retryKey, audiences",
    to: '{ refreshToken, retryKey: "", audiences',
    test: sessions,
    name: "a lost answer",
  },
  {
    fault: "a token that was not stored is presented all the same",
    ...refresh,
    from: 'written.catch(() => ({ on: "writeFailed" })) : written',
    to: 'written.catch((): TurnEvent => ({ on: mayFail ? "writeFailed" : "written", revision: expected }))',
    test: faults,
    name: "no unstored token is presented",
  },
  {
    fault: "a token is presented again and again while its successor cannot be stored",
    ...refresh,
    from: 'written.catch(() => ({ on: "writeFailed" })) : written',
    to: 'written.catch((): TurnEvent => ({ on: mayFail ? "writeFailed" : "written", revision: undefined }))',
    test: faults,
    name: "no unstored token is presented",
  },
  {
    fault: "a slow reading of the shelf brings back who has left",
    ...decisions,
    from: "if (event.facts !== state.facts)",
    to: "if (event.facts < 0)",
    name: "however slowly its record opens",
  },
  {
    fault: "a cookie of somebody else refreshes this session",
    file: "clients/core/auth-calls.ts",
    from: "answer.session?.id !== of.record.user.sessionId",
    to: "answer.session === undefined",
    test: "clients/core/auth-calls.test.ts",
    name: "a cookie of another sign-in returns no tokens",
  },
  {
    fault: "an id of dots is the path of another call",
    file: "clients/core/rest-request.ts",
    from: "if (/^\\.{0,2}$/.test(value)) throw",
    to: "if (value.length < 0) throw",
    test: "clients/core/rest.test.ts",
    name: "which would be the path of another call",
  },
  {
    fault: "an old holder's token is put over a newer one",
    ...turn,
    from: "expected: kept.revision, mayFail: true",
    to: 'expected: "any", mayFail: true',
    name: "does not overwrite a newer token",
  },
  {
    fault: "an old holder ends the session of who overtook it",
    ...turn,
    from: '{ do: "remove", expected: step.kept.revision }',
    to: '{ do: "remove", expected: "any" }',
    name: "resumes with an old token",
  },
  {
    fault: "any refusal ends a session",
    ...refresh,
    from: "if (reason === undefined) throw error",
    to: 'if (reason === undefined) return "SESSION_REVOKED"',
    name: "does not end by",
  },
  {
    fault: "tabs refresh beside each other",
    ...live,
    from: "return isServed() || (mayOthersHave(deps, machine, kept) && (await askTabs(deps, kept, isServed)))",
    to: "return false",
    test: sessions,
    name: "one of them refreshes",
  },
  {
    fault: "tokens of two people are mixed",
    ...decisions,
    from: 'show({ ...state, tokens: new Map() }, { is: "signedIn", user })',
    to: 'show(state, { is: "signedIn", user })',
    name: "without mixing their tokens",
  },
  {
    fault: "another page ends a session by saying so",
    ...decisions,
    from: "message.sessionId === sessionId ? reread(state, { reason: message.reason }) : stay(state)",
    to: "logOut(state, message.reason)",
    name: "is accepted only if valid",
  },
  {
    fault: "a service that takes no token has them refreshed for ever",
    ...live,
    from: "if (isRefusedAgain(machine.state, clock.nowMs())) return refused",
    to: "",
    name: "rejects all of them",
  },
  {
    fault: "a stream is opened again in its middle",
    ...calls,
    from: "if (isBegun || reopen === undefined) throw error",
    to: "if (reopen === undefined) throw error",
    name: "is never opened again after it",
  },
  {
    fault: "what may have been done is done again",
    ...calls,
    from: "(isRepeatable && error.code === Code.Unavailable)",
    to: "error.code === Code.Unavailable",
    name: "only if it has no effects",
  },
  {
    fault: "a refused call is made for ever",
    ...calls,
    from: "        mayRefresh = false\n",
    to: "",
    name: "that is refused twice is refused",
  },
  {
    fault: "the auth service's token goes to whoever is called",
    file: "clients/core/session-of.ts",
    from: "if (audience === authAudience && baseUrl !== config.authBaseUrl) {",
    to: 'if (audience === "" && baseUrl === "") {',
    test: signIns,
    name: "is sent to no other service",
  },
  {
    fault: "tokens go over the wire in the clear",
    file: "clients/core/service-url.ts",
    from: '(protocol === "http:" && ',
    to: '(protocol === "http:" || ',
    test: signIns,
    name: "an address in the clear",
  },
  {
    fault: "a sign-in that was not kept lives on at the service",
    file: "clients/core/sign-in.ts",
    from: "await endAtService(deps, refreshToken)\n      throw error",
    to: "throw error",
    test: signIns,
    name: "its session ends at the service",
  },
  {
    fault: "a file is opened by others",
    file: "clients/node/durable-file.ts",
    from: 'await open(path, "wx", 0o600)',
    to: 'await open(path, "wx", 0o644)',
    test: "clients/node/file-shelf.test.ts",
    name: "only the owner can access the files",
  },
  {
    fault: "who judged an old holder too late has the lock too",
    file: "clients/node/file-lock.ts",
    from: "if (holder?.host === hostname() && !(await isRunning(holder))) return true",
    to: "if (holder?.host === hostname()) return true",
    test: "clients/node/file-lock.test.ts",
    name: "a running holder keeps the lock",
  },
  {
    fault: "another issuer's answer is taken",
    file: "clients/core/redirect/answer.ts",
    from: "if (!isRight) {",
    to: "if (false) {",
    test: redirects,
    name: "refuses an answer with another issuer (RFC 9207), and the real one signs nobody in afterwards",
    row: '["another issuer (RFC 9207)"',
  },
  {
    fault: "an answer is taken by two tabs at once",
    file: "clients/core/keep.ts",
    from: "await seal(at, after), found?.revision)",
    to: 'await seal(at, after), "any")',
    test: redirects,
    name: "is completed by another tab of the browser, by one of two at the same time, and by no other browser",
  },
  {
    fault: "a sign-in that was begun lasts",
    file: "clients/core/redirect/pending.ts",
    from: "Math.abs(clock.nowMs() - createdAtMs) < lifeMs",
    to: "createdAtMs > 0",
    test: redirects,
    name: "expires after ten minutes, or when the clock is set back by as much",
  },
  {
    fault: "an app goes on at another origin",
    file: "clients/core/redirect/return-path.ts",
    from: '|| path.includes("//")',
    to: "",
    test: redirects,
    name: 'goes on at no other origin: "//evil.example"',
    row: '"//evil.example"',
  },
  {
    fault: "an answer is taken at another address",
    file: "clients/core/redirect/answer.ts",
    from: "if (path !== pending.redirectUri) throw forged()",
    to: "",
    test: redirects,
    name: "refuses an ambiguous answer, another address, and a code of another sign-in",
  },
  {
    fault: "a page that is shown while it starts reports a sign-out",
    file: "clients/core/session/decide.ts",
    from: 'case "starting":\n      return "NOT_SIGNED_IN"',
    to: 'case "starting":\n      return reason',
    test: "test/story/client-session.test.ts",
    name: "a page shown during its start reports signed out, and no sign-out elsewhere",
  },
]
