// Life cycle of a signing key: NEXT, CURRENT, PREVIOUS, RETIRED; or COMPROMISED from any state at once.
import type { SigningKeyRecord } from "./ports.ts"

/** A new key that is not stored yet. */
export type FreshKey = Pick<SigningKeyRecord, "kid" | "purpose" | "publicJwk" | "privateSealed">

/** Milliseconds. */
export interface RotationPeriods {
  /** Time for which a key signs. */
  rotateAfterMs: number
  /** Time for which a key is published before it signs, so that every verifier has fetched it. */
  publishAheadMs: number
  /** Time for which a key stays published after its last signature: longer than any token lives. */
  retireAfterMs: number
}

/** The number of fresh keys that one plan can need: the first start creates CURRENT and NEXT. */
export const freshKeysNeeded = 2

/** Maximum number of published keys that verifiers must expect. */
const maxPublished = 4

/** True if verifiers may receive tokens of the key now or soon. */
export function isPublished(key: Pick<SigningKeyRecord, "status">): boolean {
  return key.status === "NEXT" || key.status === "CURRENT" || key.status === "PREVIOUS"
}

/**
 * Returns the keys to write, in order, so that there is one CURRENT and one NEXT. Empty if nothing is due. All keys
 * have one purpose.
 *
 * A key signs only after it was published for `publishAheadMs`, unless no other key can sign: at the first start and
 * after CURRENT was compromised. `retiredAtMs` is when a key stopped signing; its private half is deleted then.
 *
 * @param fresh At least freshKeysNeeded keys.
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
 * Returns the keys to write so that the compromised key neither signs nor verifies; NEXT replaces CURRENT at once.
 * Empty if the key is unknown or already COMPROMISED.
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
