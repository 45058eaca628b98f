// Rate limits, for every call that is costly or could be a guess. The windows are in server/kernel/limits/policy.ts.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { nextAtMs, remaining, stepMicros } from "@signet/kernel/limits/bucket"
import {
  type Limits,
  type LockoutName,
  type Route,
  strangersMayUseUp,
  type Window,
  type WindowName,
} from "@signet/kernel/limits/policy"
import type { Ask, Counting, LimitCounts, Taken } from "@signet/kernel/limits/ports"
import { kCall, userOf } from "../serving/call/call.ts"
import { audited, type InForce } from "./audit/refusals.ts"
import type { Deps, Limiter } from "./deps.ts"

/** The dependencies of counting, so that auth and messaging share it. */
export type CountingDeps = Pick<Deps, "limiter" | "clock" | "secrets"> & {
  readonly store: Pick<Deps["store"], "limits">
}

/** The subjects that a call is counted for, by window. Each of several subjects has its own bucket. */
export type Subjects<R extends Route> = { readonly [W in WindowName<R>]?: string | readonly string[] }
type Named = Readonly<Record<string, string | readonly string[] | undefined>>

/** The subject whose failed proofs are counted: a client, or a person with a password. */
export interface Guessed {
  readonly of: LockoutName
  /** The client's id, or a keyed hash for a person. */
  readonly subject: string
}

interface Options {
  /** The lockout to check before counting: see `failed`. */
  readonly lock?: Guessed
  /** Where to count: the counts of the current transaction, else the store's. */
  readonly counts?: LimitCounts
}

/** The network that a call's `ip` windows count. Callers without an address share one. */
export const networkOf = (context: HandlerContext): string => context.values.get(kCall).network ?? "unknown"

/**
 * Counts a call against windows of its route, in one statement, and sets the RateLimit and RateLimit-Policy headers
 * (draft-ietf-httpapi-ratelimit-headers-10).
 *
 * @param subjects The counted subjects, by window: `{ ip: networkOf(context), session: id }`. A subject that others
 * could name may be passed only after the caller has proved to be it.
 * @throws Refused RATE_LIMITED with `retry_after` (whole seconds); UNAVAILABLE when the limits cannot be counted.
 */
export async function limit<R extends Route>(
  deps: CountingDeps,
  context: HandlerContext,
  route: R,
  subjects: Subjects<R>,
  options: Options = {},
): Promise<void> {
  const refused = await limited(deps, context, route, subjects, options)
  if (refused !== undefined) throw refused
}

/** As `limit`, for a transaction that commits although the call is refused: returns the refusal. */
export async function limited<R extends Route>(
  deps: CountingDeps,
  context: HandlerContext,
  route: R,
  subjects: Subjects<R>,
  options: Options = {},
): Promise<Refused | undefined> {
  const { limiter } = deps
  if (limiter === null) return undefined
  const nowMs = deps.clock.nowMs()
  const known = knownRefusal(limiter, context, route, subjects, options, nowMs)
  if (known !== undefined) return known
  const parts = partsOf(limiter.limits, route, subjects)
  const asks = parts.map(({ text, window }): Ask => ({ key: deps.secrets.hash(purpose, text), window }))
  const lock = lockOf(context, options.lock)

  const counts = options.counts ?? deps.store.limits
  const locks = lock === undefined ? [] : [deps.secrets.hash(purpose, lock.text)]
  const { counted, lockedUntilMs } = await counts.take(asks, locks, nowMs)
  if (lock !== undefined && lockedUntilMs !== null) {
    return lockedRefusal(limiter, context, lock, lockedUntilMs, nowMs, locks[0])
  }
  let refused: { part: Part; untilMs: number; inForce?: InForce } | undefined
  const taken: Ask[] = []
  for (const [i, part] of parts.entries()) {
    const { granted, fullAtMs } = counted[i] ?? { granted: false, fullAtMs: nowMs }
    const ask = asks[i]
    if (granted && ask !== undefined) taken.push(ask)
    appendHeaders(context, part, { left: remaining(fullAtMs, part.window, nowMs), fullAtMs, nowMs })
    if (granted) continue
    const untilMs = nextAtMs(fullAtMs, part.window)
    limiter.refused.remember(part.text, untilMs, nowMs)
    const reportedMs = Math.max(reportedUntilMs(parts, part, untilMs, nowMs), nowMs + 1)
    if (refused !== undefined && reportedMs <= refused.untilMs) continue
    refused = { part, untilMs: reportedMs, ...(ask && { inForce: { key: ask.key, untilMs: fullAtMs } }) }
  }
  if (refused !== undefined && taken.length > 0) await counts.giveBack(taken)
  return refused && limitedRefusal(limiter, refused.part, refused.untilMs, nowMs, refused.inForce)
}

/**
 * As `limited`, with a statement that counts and does the work of a granted call.
 *
 * @param count Also called without limits, with empty lists.
 */
export async function limitedWith<R extends Route>(
  deps: CountingDeps,
  context: HandlerContext,
  route: R,
  subjects: Subjects<R>,
  options: Pick<Options, "lock">,
  count: (counting: Counting) => Promise<Taken>,
): Promise<Refused | undefined> {
  const { limits } = deps.store
  const take: LimitCounts["take"] = (asks, locks, nowMs) => count({ asks, locks, nowMs })
  if (deps.limiter !== null) {
    return limited(deps, context, route, subjects, { ...options, counts: { ...limits, take } })
  }
  await take([], [], deps.clock.nowMs())
  return undefined
}

/** Counts a signed-in user's change of credentials or delegations. */
export const limitWrite = (deps: CountingDeps, context: HandlerContext): Promise<void> =>
  limit(deps, context, "admin_write", { caller: userOf(context).principal.id })

/**
 * Refuses a call that this process knows to be over its limit, without a statement. Handlers call it before any
 * look-up.
 *
 * @throws Refused RATE_LIMITED with `retry_after` (whole seconds).
 */
export function refuseKnown<R extends Route>(
  deps: CountingDeps,
  context: HandlerContext,
  route: R,
  subjects: Subjects<R>,
  options: Options = {},
): void {
  const { limiter } = deps
  if (limiter === null) return
  const refused = knownRefusal(limiter, context, route, subjects, options, deps.clock.nowMs())
  if (refused !== undefined) throw refused
}

function knownRefusal(
  limiter: Limiter,
  context: HandlerContext,
  route: Route,
  subjects: Named,
  options: Options,
  nowMs: number,
): Refused | undefined {
  const lock = lockOf(context, options.lock)
  const lockedUntilMs = lock === undefined ? null : limiter.refused.until(lock.text, nowMs)
  if (lock !== undefined && lockedUntilMs !== null) return lockedRefusal(limiter, context, lock, lockedUntilMs, nowMs)
  let refused: { part: Part; untilMs: number } | undefined
  const parts = partsOf(limiter.limits, route, subjects)
  for (const part of parts) {
    const known = limiter.refused.until(part.text, nowMs)
    if (known === null) continue
    appendHeaders(context, part, { left: 0, fullAtMs: known, nowMs })
    const reportedMs = reportedUntilMs(parts, part, known, nowMs)
    if (refused === undefined || reportedMs > refused.untilMs) refused = { part, untilMs: reportedMs }
  }
  return refused && limitedRefusal(limiter, refused.part, refused.untilMs, nowMs)
}

/** Returns what a granted call took from these windows, because it was no guess. */
export async function giveBack<R extends Route>(deps: CountingDeps, route: R, subjects: Subjects<R>): Promise<void> {
  if (deps.limiter === null) return
  const parts = partsOf(deps.limiter.limits, route, subjects)
  await deps.store.limits.giveBack(parts.map(({ text, window }) => ({ key: deps.secrets.hash(purpose, text), window })))
}

/**
 * Counts a failed proof of a secret against its subject and the caller's network. The network is part of the key, so
 * others cannot lock a client or person out. Returns after counting; the caller then throws its own refusal.
 *
 * @throws Refused while the pair is locked, whether or not the proof was right: RATE_LIMITED for a client, LOCKED_OUT
 * for a person.
 */
export async function failed(deps: CountingDeps, context: HandlerContext, guessed: Guessed): Promise<void> {
  const { limiter } = deps
  if (limiter === null) return
  const nowMs = deps.clock.nowMs()
  const lock = lockOf(context, guessed)
  const policy = limiter.limits.lockouts[guessed.of]
  const knownUntilMs = limiter.refused.until(lock.text, nowMs)
  if (knownUntilMs !== null) throw lockedRefusal(limiter, context, lock, knownUntilMs, nowMs)
  const key = deps.secrets.hash(purpose, lock.text)
  const lockedUntilMs = await deps.store.limits.fail(key, policy, nowMs)
  if (lockedUntilMs !== null) throw lockedRefusal(limiter, context, lock, lockedUntilMs, nowMs, key)
}

const purpose = "rate-limit"

interface Part {
  readonly route: Route
  /** The window's name. */
  readonly of: string
  /** Hashed for the store. The memory of this process holds it in clear. */
  text: string
  /** The name in the headers, such as `refresh-session`; null for a window that the headers omit. */
  name: string | null
  window: Window
}

function partsOf(limits: Limits, route: Route, subjects: Named): Part[] {
  const windows: Readonly<Record<string, Window>> = limits.windows[route]
  return Object.entries(subjects).flatMap(([of, subject]) => {
    const window = windows[of]
    if (window === undefined || subject === undefined) return []
    const name = strangersMayUseUp.has(of) ? null : `${route}-${of}`
    return [subject].flat().map((one) => ({ route, of, text: JSON.stringify([route, of, one]), name, window }))
  })
}

interface Lock {
  /** Hashed for the store. */
  text: string
  of: LockoutName
  reason: "RATE_LIMITED" | "LOCKED_OUT"
}

function lockOf(context: HandlerContext, guessed: Guessed): Lock
function lockOf(context: HandlerContext, guessed: Guessed | undefined): Lock | undefined
function lockOf(context: HandlerContext, guessed: Guessed | undefined): Lock | undefined {
  if (guessed === undefined) return undefined
  const { of, subject } = guessed
  const text = JSON.stringify(["lockout", of, subject, networkOf(context)])
  return { text, of, reason: of === "client" ? "RATE_LIMITED" : "LOCKED_OUT" }
}

/** Deletes the RateLimit headers of a caller whose proof is refused: they would reveal that a guess was right. */
export function dropLimitHeaders(context: HandlerContext): void {
  for (const name of ["ratelimit", "ratelimit-policy"]) context.responseHeader.delete(name)
}

/** The audit event names no subject, because a guessed address need not be anybody's. */
function lockedRefusal(
  limiter: Limiter,
  context: HandlerContext,
  lock: Lock,
  untilMs: number,
  nowMs: number,
  key?: Uint8Array,
): Refused {
  // Not what this process knew already, which would prolong its entry.
  if (key !== undefined) limiter.refused.remember(lock.text, untilMs, nowMs)
  dropLimitHeaders(context)
  limiter.onRefused?.(lock.of, "lockout")
  return audited(refusedUntil(untilMs, nowMs, lock.reason), {
    kind: "ratelimit.locked_out",
    outcome: "DENIED",
    target: { type: "lockout", id: lock.of },
    once: lock.text,
    ...(key && { inForce: { key, untilMs } }),
  })
}

/**
 * @param part The refusing window with the longest wait.
 * @param inForce Its bucket, if the store was asked.
 */
function limitedRefusal(
  limiter: Limiter,
  { route, of, text }: Part,
  untilMs: number,
  nowMs: number,
  inForce?: InForce,
): Refused {
  const window = `${route}.${of}`
  limiter.onRefused?.(window, "window")
  return audited(refusedUntil(untilMs, nowMs), {
    kind: "ratelimit.exceeded",
    outcome: "DENIED",
    target: { type: "rate_limit", id: window },
    once: text,
    ...(inForce && { inForce }),
  })
}

function refusedUntil(untilMs: number, nowMs: number, reason: Lock["reason"] = "RATE_LIMITED"): Refused {
  const seconds = Math.max(1, Math.ceil((untilMs - nowMs) / 1_000))
  return new Refused(reason, { metadata: { retry_after: String(seconds) } })
}

/**
 * The time until which the caller must wait for a window. The times of windows that others may use up would reveal when
 * others called, and which window refused. So all of them report the shortest time in which one of them grants a call.
 */
function reportedUntilMs(parts: readonly Part[], { name }: Part, untilMs: number, nowMs: number): number {
  if (name !== null) return untilMs
  const steps = parts.flatMap((part) => (part.name === null ? [stepMicros(part.window) / 1_000] : []))
  return nowMs + Math.min(...steps)
}

/** Appends a window to the RateLimit headers. A repeated transaction does not append it twice. */
function appendHeaders(
  context: HandlerContext,
  { name, window }: Part,
  { left, fullAtMs, nowMs }: { left: number; fullAtMs: number; nowMs: number },
): void {
  if (name === null || context.responseHeader.get("ratelimit-policy")?.includes(`"${name}"`)) return
  const seconds = Math.max(0, Math.ceil((fullAtMs - nowMs) / 1_000))
  context.responseHeader.append("ratelimit-policy", `"${name}";q=${window.limit};w=${window.seconds}`)
  context.responseHeader.append("ratelimit", `"${name}";r=${left};t=${seconds}`)
}
