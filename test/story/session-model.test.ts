// Compares the server with a model of the specification, step by step over random histories of sessions.
import { ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import fc from "fast-check"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { sweep } from "../../server/store/postgres/sweep.ts"
import { bearer, type Clients, clientsOver, protocols } from "../support/clients.ts"
import { effort } from "../support/effort.ts"
import { startTestServer, type TestServer } from "../support/server.ts"
import {
  applyStep,
  type Limits,
  liveTokens,
  type Model,
  nothingYet,
  resolve,
  type Step,
} from "../support/session-model.ts"

const seed = Number(process.env.SIGNET_SEED ?? Date.now() % 0x7fffffff)
const limits: Limits = { idle: 400, absolute: 1_000, retryWindow: 60, accessToken: 600 + 30 }
const keys = { none: "", own: "0123456789abcdefghijkl", another: "lkjihgfedcba9876543210" }

/** The values of one history's clients in order of arrival: the model's numbers are indexes of these lists. */
interface Held {
  readonly sessions: readonly { readonly id: string; readonly accessToken: string }[]
  readonly tokens: readonly string[]
}

/** An answer, before the new tokens are known. */
type Answer =
  | { readonly is: "said"; readonly text: string }
  | { readonly is: "tokens"; readonly session: string; readonly accessToken: string; readonly refreshToken: string }

/** One step, or two at the same time. */
type Moment = readonly [Step] | readonly [Step, Step]

/** Mostly the newest values, which gives long histories of one session, and sometimes others. */
const number = fc.oneof({ weight: 4, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(20) })
const caller = number
const byTokens = [
  { weight: 3, arbitrary: fc.record({ is: fc.constant("signIn" as const), person: fc.nat(1) }) },
  {
    weight: 16,
    arbitrary: fc.record({
      is: fc.constant("refresh" as const),
      token: number,
      key: fc.oneof(
        // Another key soon ends the session, and so the history.
        { weight: 5, arbitrary: fc.constant("own" as const) },
        { weight: 1, arbitrary: fc.constantFrom("none" as const, "another" as const) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("logout" as const), token: number }) },
]
const stepByTokens: fc.Arbitrary<Step> = fc.oneof(...byTokens)
const step: fc.Arbitrary<Step> = fc.oneof(
  ...byTokens,
  { weight: 1, arbitrary: fc.record({ is: fc.constant("logoutCaller" as const), caller }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant("logoutAll" as const), caller, exceptCurrent: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant("revoke" as const), caller, session: number }) },
  { weight: 4, arbitrary: fc.record({ is: fc.constant("list" as const), caller }) },
)
const wait = fc.record({
  is: fc.constant("wait" as const),
  // The limits themselves, and one second on either side.
  seconds: fc.constantFrom(1, 1, 1, 59, 59, 60, 61, 300, 399, 400, 630, 1_000),
})
const moment: fc.Arbitrary<Moment> = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(step) },
  { weight: 2, arbitrary: fc.tuple(wait) },
  // Beside another call, a caller with an access token may end between the guard's check and the call.
  { weight: 3, arbitrary: fc.tuple(stepByTokens, stepByTokens) },
)
const history = fc.record({
  retryWindow: fc.constantFrom(limits.retryWindow, limits.retryWindow, 0),
  moments: fc.array(moment, { minLength: 1, maxLength: 20, size: "max" }),
})

const signIn: Moment = [{ is: "signIn", person: 0 }]
const rest = (seconds: number): Moment => [{ is: "wait", seconds }]
/** @param back How many tokens were issued after the presented one. */
const refresh = (back: number): Moment => [{ is: "refresh", token: back, key: "own" }]

/** Histories that random choice reaches too rarely. */
const examples: readonly (readonly Moment[])[] = [
  // A retry at the last moment of its window, and one moment later.
  [signIn, refresh(0), rest(59), refresh(1), rest(1), refresh(1)],
  // A retry after the successor was used.
  [signIn, refresh(0), refresh(0), refresh(2)],
  // A client that lost an answer returns after its session's last moment, and is too late.
  [signIn, rest(399), refresh(0), rest(399), refresh(0), rest(201), refresh(0), rest(1), refresh(1)],
]

describe("sessions under any history (PGlite)", () => {
  let server: TestServer
  let clients: Clients
  let histories = 0
  beforeAll(async () => {
    // The clock advances only in waiting steps, so a limit is met to the millisecond.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.parse("2026-03-01T00:00:00Z") })
    // Transactions are sequential on PGlite.
    server = await startTestServer({ store: "pglite", isClockStopped: true })
    clients = clientsOver(protocolOf("Connect JSON over HTTP/1.1")(server.url))
  })
  afterAll(async () => {
    vi.useRealTimers()
    await server?.close()
  })

  test(`follow the model (seed ${seed})`, { timeout: effort(60_000, 120_000, 600_000) }, async () => {
    await fc.assert(
      fc.asyncProperty(history, ({ retryWindow, moments }) => follow({ ...limits, retryWindow }, moments)),
      {
        seed,
        numRuns: effort(3, 500, 5_000),
        interruptAfterTimeLimit: effort(10_000, 25_000, 540_000),
        markInterruptAsFailure: false,
        examples: examples.map((moments) => [{ retryWindow: limits.retryWindow, moments }]),
      },
    )
  })

  async function follow(bounds: Limits, moments: readonly Moment[]): Promise<void> {
    const { app } = server
    const settings = {
      ...app.settings,
      sessionIdleSecondsWeb: bounds.idle,
      sessionAbsoluteSeconds: bounds.absolute,
      retryWindowSeconds: bounds.retryWindow,
    }
    await server.deps.store.transaction((tx) => tx.apps.putApp({ ...app, settings }))
    const people = [`${histories} Ada`, `${histories} Bob`]
    histories++
    let model = nothingYet(bounds)
    let held: Held = { sessions: [], tokens: [] }
    for (const moment of moments) {
      const steps = moment.flatMap((step) => resolve(model, step) ?? [])
      const given = held
      const answers = await Promise.all(steps.map((step) => act(step, given, people)))
      // Two parallel steps must equal one of the two sequential orders.
      const orders =
        steps.length === 2
          ? [
              [0, 1],
              [1, 0],
            ]
          : [steps.map((_, i) => i)]
      const stories = orders.map((order) => compare(model, held, order, steps, answers))
      const story = stories.find(({ differences }) => differences.length === 0)
      if (story === undefined) throw new Error(stories.map(({ differences }) => differences.join()).join(" and "))
      model = story.model
      held = story.held
      expect(await liveInDatabase(held)).toEqual(expectedInDatabase(model, held))
    }
  }

  async function act(step: Step, held: Held, people: readonly string[]): Promise<Answer> {
    try {
      return await ask(step, held, people)
    } catch (error) {
      const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema)
      return said(info?.reason ?? String(error))
    }
  }

  async function ask(step: Step, held: Held, people: readonly string[]): Promise<Answer> {
    const token = (number: number) => held.tokens[number] ?? ""
    const as = (number: number) => bearer(held.sessions[number]?.accessToken ?? "")
    switch (step.is) {
      case "wait":
        server.advance(step.seconds * 1_000)
        // A sweep must not change any answer.
        await sweep(server.store.db, server.deps.clock.nowMs())
        return said("done")
      case "signIn":
        return tokensOf(await clients.auth.externalLogin(await server.login(people[step.person] ?? "")))
      case "refresh":
        return tokensOf(await clients.auth.refresh({ refreshToken: token(step.token), retryKey: keys[step.key] }))
      case "logout":
        await clients.auth.logout({ refreshToken: token(step.token) })
        return said("done")
      case "logoutCaller":
        await clients.auth.logout({}, as(step.caller))
        return said("done")
      case "logoutAll": {
        const { exceptCurrent } = step
        const { revokedSessions } = await clients.auth.logoutAll({ exceptCurrent }, as(step.caller))
        return said(`ended ${revokedSessions}`)
      }
      case "revoke":
        await clients.sessions.revokeSession({ sessionId: held.sessions[step.session]?.id ?? "" }, as(step.caller))
        return said("done")
      case "list": {
        const { sessions } = await clients.sessions.listSessions({}, as(step.caller))
        const numbers = sessions.map(({ id }) => held.sessions.findIndex((known) => known.id === id))
        return said(`sessions ${numbers.toSorted((a, b) => a - b).join()}`)
      }
    }
  }

  async function liveInDatabase(held: Held) {
    const ids = held.sessions.map(({ id }) => id)
    const now = new Date(server.deps.clock.nowMs())
    const { rows: sessions } = await sql<{ id: string; status: string }>`
      select id, status from session where id = any(${ids})`.execute(server.store.db)
    const { rows: tokens } = await sql<{ hash: string }>`
      select encode(token_hash, 'hex') as hash from refresh_token join session on session.id = session_id
      where session_id = any(${ids}) and status = 'ACTIVE' and idle_expires_at > ${now} and absolute_expires_at > ${now}
        and rotated_at is null and refresh_token.revoked_at is null and expires_at > ${now}`.execute(server.store.db)
    return {
      statuses: Object.fromEntries(sessions.map(({ id, status }) => [id, status])),
      tokens: tokens.map(({ hash }) => hash).toSorted(),
    }
  }

  function expectedInDatabase(model: Model, held: Held) {
    const hash = (token: string) => Buffer.from(server.secrets.hash("refresh-token", token)).toString("hex")
    return {
      statuses: Object.fromEntries(held.sessions.map(({ id }, i) => [id, model.sessions[i]?.status])),
      tokens: liveTokens(model)
        .map((number) => hash(held.tokens[number] ?? ""))
        .toSorted(),
    }
  }
})

/** Runs the steps in this order in the model, and compares with the server's answers; the first difference ends it. */
function compare(
  model: Model,
  held: Held,
  order: readonly number[],
  steps: readonly Step[],
  answers: readonly Answer[],
) {
  const differences: string[] = []
  for (const i of order) {
    const step = steps[i]
    const answer = answers[i]
    if (step === undefined || answer === undefined) throw new Error("a step has no answer")
    const named = name(held, answer)
    const outcome = applyStep(model, step)
    if (named.text !== outcome.answer) {
      differences.push(`${JSON.stringify(step)} at ${model.now} s gave ${named.text} instead of ${outcome.answer}`)
    }
    model = outcome.model
    held = named.held
  }
  return { model, held, differences }
}

/** The answer in the model's terms, and the client's values after it. */
function name(held: Held, answer: Answer): { held: Held; text: string } {
  if (answer.is === "said") return { held, text: answer.text }
  const { session: id, accessToken, refreshToken } = answer
  const known = held.tokens.indexOf(refreshToken)
  const place = held.sessions.findIndex((session) => session.id === id)
  return {
    text: `token ${known === -1 ? held.tokens.length : known}`,
    held: {
      tokens: known === -1 ? [...held.tokens, refreshToken] : held.tokens,
      sessions: place === -1 ? [...held.sessions, { id, accessToken }] : held.sessions.with(place, { id, accessToken }),
    },
  }
}

const said = (text: string): Answer => ({ is: "said", text })

const tokensOf = (of: { session?: { id: string }; accessToken: string; refreshToken: string }): Answer => ({
  is: "tokens",
  session: of.session?.id ?? "",
  accessToken: of.accessToken,
  refreshToken: of.refreshToken,
})

function protocolOf(title: string) {
  const protocol = protocols[title]
  if (protocol === undefined) throw new Error(title)
  return protocol
}
