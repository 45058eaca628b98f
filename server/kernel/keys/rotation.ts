// The life of a signing key: NEXT, CURRENT, PREVIOUS, RETIRED; or COMPROMISED, from anywhere and at once.
import type { SigningKeyRecord } from "./ports.ts"

/** A key that was made and is not kept yet. */
export type FreshKey = Pick<SigningKeyRecord, "kid" | "purpose" | "publicJwk" | "privateSealed">

/** Milliseconds. */
export interface RotationPeriods {
  /** How long a key signs. */
  rotateAfterMs: number
  /** How long a key is published before it signs, so that every verifier has seen it. */
  publishAheadMs: number
  /** How long a key stays published after it signed: longer than any token lives. */
  retireAfterMs: number
}

/** What one plan can need of a purpose: a first start makes CURRENT and NEXT. */
export const freshKeysNeeded = 2

/** Verifiers are promised no more keys than this at a time. */
const maxPublished = 4

/** Whether verifiers may still meet tokens of the key, or soon will. */
export function isPublished(key: Pick<SigningKeyRecord, "status">): boolean {
  return key.status === "NEXT" || key.status === "CURRENT" || key.status === "PREVIOUS"
}

/**
 * The keys to write, in this order, so that there is one CURRENT and one NEXT. Nothing when nothing is due.
 * Keys and fresh keys are all of one purpose.
 *
 * A key signs only after it was published for long enough. It signs earlier when there is no other: at the first start,
 * and when CURRENT was compromised. `retiredAtMs` is when a key stopped signing; from then on its private half is gone.
 *
 * @param fresh At least as many as freshKeysNeeded.
 * @param nowMs Milliseconds since the Unix epoch.
 */
export function planRotation(
  keys: readonly SigningKeyRecord[],
  fresh: readonly FreshKey[],
  nowMs: number,
  periods: RotationPeriods,
): readonly SigningKeyRecord[] {
  const writes = keys.filter((key) => isRetiring(key, nowMs, periods)).map((key) => stop(key, "RETIRED", nowMs))
  const current = keys.find((key) => key.status === "CURRENT")
  const next = keys.find((key) => key.status === "NEXT")
  const published = keys.filter(isPublished).length - writes.length
  const [first, second] = fresh.filter((made) => !keys.some((key) => key.kid === made.kid))
  if (first === undefined || second === undefined) throw new RangeError("a rotation needs two new keys")

  if (current !== undefined && next === undefined) return [...writes, publish(first, nowMs)]
  if (current === undefined) {
    return next === undefined
      ? [...writes, activate(publish(first, nowMs), nowMs), publish(second, nowMs)]
      : [...writes, activate(next, nowMs), publish(first, nowMs)]
  }
  if (next === undefined || published >= maxPublished || !isDue(current, next, nowMs, periods)) return writes
  return [...writes, stop(current, "PREVIOUS", nowMs), activate(next, nowMs), publish(first, nowMs)]
}

/**
 * The keys to write so that this key signs and verifies nothing any more; NEXT takes the place of CURRENT at once.
 * Nothing when there is no such key, or when it was known.
 */
export function planCompromise(
  kid: string,
  keys: readonly SigningKeyRecord[],
  fresh: readonly FreshKey[],
  nowMs: number,
  periods: RotationPeriods,
): readonly SigningKeyRecord[] {
  const key = keys.find((one) => one.kid === kid)
  if (key === undefined || key.status === "COMPROMISED") return []
  const ended = stop(key, "COMPROMISED", nowMs)
  const left = keys.map((one) => (one === key ? ended : one))
  return [ended, ...planRotation(left, fresh, nowMs, periods)]
}

function isRetiring(key: SigningKeyRecord, nowMs: number, periods: RotationPeriods): boolean {
  return key.status === "PREVIOUS" && nowMs >= (key.retiredAtMs ?? 0) + periods.retireAfterMs
}

function isDue(current: SigningKeyRecord, next: SigningKeyRecord, nowMs: number, periods: RotationPeriods): boolean {
  const signedFor = nowMs - (current.activatedAtMs ?? current.createdAtMs)
  return signedFor >= periods.rotateAfterMs && nowMs - next.createdAtMs >= periods.publishAheadMs
}

function publish(made: FreshKey, nowMs: number): SigningKeyRecord {
  return { ...made, status: "NEXT", createdAtMs: nowMs, activatedAtMs: null, retiredAtMs: null }
}

function activate(key: SigningKeyRecord, nowMs: number): SigningKeyRecord {
  return { ...key, status: "CURRENT", activatedAtMs: nowMs }
}

function stop(key: SigningKeyRecord, status: "PREVIOUS" | "RETIRED" | "COMPROMISED", nowMs: number): SigningKeyRecord {
  return { ...key, status, retiredAtMs: key.retiredAtMs ?? nowMs, privateSealed: new Uint8Array(0) }
}
