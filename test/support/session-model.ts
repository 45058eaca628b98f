// A minimal model of sessions by the specification, to compare a server with.

/** Seconds. */
export interface Limits {
  readonly idle: number
  readonly absolute: number
  /** 0 disables the retry key. */
  readonly retryWindow: number
  /** How long an access token is accepted, including the clock skew. */
  readonly accessToken: number
}

type RetryKey = "none" | "own" | "another"

/** Steps refer to objects counted back from the newest; a count beyond the first wraps around. */
export type Step =
  | { readonly is: "signIn"; readonly person: number }
  | { readonly is: "refresh"; readonly token: number; readonly key: RetryKey }
  | { readonly is: "logout"; readonly token: number }
  | { readonly is: "logoutCaller"; readonly caller: number }
  | { readonly is: "logoutAll"; readonly caller: number; readonly exceptCurrent: boolean }
  | { readonly is: "revoke"; readonly caller: number; readonly session: number }
  | { readonly is: "list"; readonly caller: number }
  | { readonly is: "wait"; readonly seconds: number }

interface ModelSession {
  readonly person: number
  readonly status: "ACTIVE" | "REVOKED" | "COMPROMISED"
  readonly idleAt: number
  readonly absoluteAt: number
  /** When the session's last access token expires. */
  readonly accessUntil: number
}

interface ModelToken {
  readonly session: number
  /** Undefined while the token is current. */
  readonly rotated?: { readonly at: number; readonly key: RetryKey; readonly successor: number }
}

export interface Model {
  readonly now: number
  readonly limits: Limits
  readonly sessions: readonly ModelSession[]
  readonly tokens: readonly ModelToken[]
}

/** The expected answer of a step: a reason, "token 3", "sessions 0,2", "ended 2" or "done". */
export interface Outcome {
  readonly model: Model
  readonly answer: string
}

export const nothingYet = (limits: Limits): Model => ({ now: 0, limits, sessions: [], tokens: [] })

/** Replaces counts by the model's indexes; undefined if the step has no object. */
export function resolve({ sessions, tokens }: Model, step: Step): Step | undefined {
  const back = (count: number, length: number) => length - 1 - (count % length)
  const session = (count: number) => back(count, sessions.length)
  if (step.is === "signIn" || step.is === "wait") return step
  if (sessions.length === 0) return undefined
  switch (step.is) {
    case "refresh":
    case "logout":
      return { ...step, token: back(step.token, tokens.length) }
    case "revoke":
      return { ...step, caller: session(step.caller), session: session(step.session) }
    default:
      return { ...step, caller: session(step.caller) }
  }
}

/** True if the session is usable now, whatever its row says. */
export const isLive = ({ now }: Model, { status, idleAt, absoluteAt }: ModelSession): boolean =>
  status === "ACTIVE" && now < idleAt && now < absoluteAt

/** Indexes of the tokens that a refresh would rotate now: one for each live session. */
export const liveTokens = (model: Model): number[] =>
  model.tokens.flatMap((token, i) => (!token.rotated && isLive(model, at(model.sessions, token.session)) ? [i] : []))

export function applyStep(model: Model, step: Step): Outcome {
  switch (step.is) {
    case "wait":
      return { model: { ...model, now: model.now + step.seconds }, answer: "done" }
    case "signIn":
      return signIn(model, step.person)
    case "refresh":
      return refresh(model, step.token, step.key)
    case "logout":
      return { model: end(model, "REVOKED", [at(model.tokens, step.token).session]), answer: "done" }
    case "logoutCaller":
      // Ending an ended session is idempotent.
      if (model.now >= at(model.sessions, step.caller).accessUntil) return { model, answer: "NO_CREDENTIAL" }
      return { model: end(model, "REVOKED", [step.caller]), answer: "done" }
    default: {
      const refused = refusalOf(model, step.caller)
      return refused === undefined ? called(model, step) : { model, answer: refused }
    }
  }
}

function signIn({ sessions, tokens, ...rest }: Model, person: number): Outcome {
  const { now, limits } = rest
  const absoluteAt = now + limits.absolute
  const idleAt = Math.min(now + limits.idle, absoluteAt)
  const session = { person, status: "ACTIVE", idleAt, absoluteAt, accessUntil: now + limits.accessToken } as const
  return {
    model: { ...rest, sessions: [...sessions, session], tokens: [...tokens, { session: sessions.length }] },
    answer: `token ${tokens.length}`,
  }
}

function refresh(model: Model, number: number, key: RetryKey): Outcome {
  const { now, limits, tokens } = model
  const token = at(tokens, number)
  const session = at(model.sessions, token.session)
  const invalid = { model, answer: "REFRESH_TOKEN_INVALID" }
  if (session.status !== "ACTIVE") return invalid
  const accessUntil = now + limits.accessToken
  if (token.rotated) {
    const { at: rotatedAt, key: keptKey, successor } = token.rotated
    const isRetry = key !== "none" && key === keptKey && now < rotatedAt + limits.retryWindow
    if (!isRetry || at(tokens, successor).rotated) {
      return { model: end(model, "COMPROMISED", [token.session]), answer: "REFRESH_TOKEN_REUSED" }
    }
    if (!isLive(model, session)) return invalid
    return { model: change(model, token.session, { accessUntil }), answer: `token ${successor}` }
  }
  if (!isLive(model, session)) return invalid
  const rotated = { ...token, rotated: { at: now, key, successor: tokens.length } }
  const idleAt = Math.min(now + limits.idle, session.absoluteAt)
  return {
    model: {
      ...change(model, token.session, { accessUntil, idleAt }),
      tokens: [...tokens.with(number, rotated), { session: token.session }],
    },
    answer: `token ${tokens.length}`,
  }
}

function called(model: Model, step: Extract<Step, { is: "logoutAll" | "revoke" | "list" }>): Outcome {
  const { person } = at(model.sessions, step.caller)
  const own = model.sessions.flatMap((session, i) => (session.person === person ? [i] : []))
  switch (step.is) {
    case "list": {
      const shown = own.filter((i) => isLive(model, at(model.sessions, i)))
      return { model, answer: `sessions ${shown.join()}` }
    }
    case "revoke":
      if (!own.includes(step.session)) return { model, answer: "SESSION_NOT_FOUND" }
      return { model: end(model, "REVOKED", [step.session]), answer: "done" }
    case "logoutAll": {
      const going = own.filter(
        (i) => at(model.sessions, i).status === "ACTIVE" && !(step.exceptCurrent && i === step.caller),
      )
      return { model: end(model, "REVOKED", going), answer: `ended ${going.length}` }
    }
  }
}

function refusalOf(model: Model, caller: number): string | undefined {
  const session = at(model.sessions, caller)
  if (model.now >= session.accessUntil) return "TOKEN_EXPIRED"
  if (session.status !== "ACTIVE") return "SESSION_REVOKED"
  return isLive(model, session) ? undefined : "SESSION_EXPIRED"
}

function end(model: Model, status: "REVOKED" | "COMPROMISED", numbers: readonly number[]): Model {
  const ending = numbers.filter((number) => at(model.sessions, number).status === "ACTIVE")
  return ending.reduce((before, number) => change(before, number, { status }), model)
}

function change(model: Model, number: number, changes: Partial<ModelSession>): Model {
  return { ...model, sessions: model.sessions.with(number, { ...at(model.sessions, number), ...changes }) }
}

function at<T>(list: readonly T[], number: number): T {
  const found = list[number]
  if (found === undefined) throw new RangeError(`there is no number ${number}`)
  return found
}
