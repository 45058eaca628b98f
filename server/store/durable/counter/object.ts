import { DurableObject } from "cloudflare:workers"
import { spanMicros, stepMicros, take } from "@signet/kernel/limits/bucket"
import { countFailure, type Lockout } from "@signet/kernel/limits/lockout"
import type { LockoutPolicy, Window } from "@signet/kernel/limits/policy"
import type { Counted } from "@signet/kernel/limits/ports"

interface Bucket {
  readonly fullAtMicros: number
  readonly stepMicros: number
  /** True if the last call was granted, and so can be returned. */
  readonly wasGranted: boolean
}

interface Kept {
  readonly bucket?: Bucket
  readonly lock?: Lockout
  /** After this time the object holds no state. Milliseconds since the Unix epoch. */
  readonly untilMs: number
}

/**
 * The count of one subject in one window, or of the failures with one credential, named by its keyed hash. It does not
 * wait for its disk: a crash loses the last counts, in the callers' favour.
 */
export class CounterObject extends DurableObject {
  #kept: Kept

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    this.#kept = ctx.storage.kv.get<Kept>("kept") ?? { untilMs: 0 }
  }

  take(window: Window, nowMs: number): Counted {
    const nowMicros = Math.round(nowMs * 1_000)
    const { granted, fullAtMicros } = take(this.#kept.bucket?.fullAtMicros, window, nowMicros)
    const bucket = { fullAtMicros, stepMicros: stepMicros(window), wasGranted: granted }
    // A refused call changes nothing that is stored.
    if (granted) this.#keep({ ...this.#kept, bucket }, (nowMicros + spanMicros(window)) / 1_000)
    else this.#kept = { ...this.#kept, bucket }
    return { granted, fullAtMs: fullAtMicros / 1_000 }
  }

  giveBack(): void {
    const { bucket } = this.#kept
    if (bucket?.wasGranted !== true) return
    const fullAtMicros = bucket.fullAtMicros - bucket.stepMicros
    this.#keep({ ...this.#kept, bucket: { ...bucket, fullAtMicros } }, this.#kept.untilMs)
  }

  /** The end of the lock in milliseconds, or null. */
  lockedUntil(nowMs: number): number | null {
    const { lock } = this.#kept
    return lock !== undefined && lock.lockedUntilMs > nowMs ? lock.lockedUntilMs : null
  }

  /** Counts a failure. @returns The end of an earlier lock, or null. */
  fail(policy: LockoutPolicy, nowMs: number): number | null {
    const { counted, state } = countFailure(this.#kept.lock, policy, nowMs)
    if (!counted) return state.lockedUntilMs
    const untilMs = Math.max(state.lockedUntilMs + policy.mostLockSeconds * 1_000, state.windowEndsAtMs)
    this.#keep({ ...this.#kept, lock: state }, untilMs)
    return null
  }

  override async alarm(): Promise<void> {
    const { untilMs } = this.#kept
    if (Date.now() < untilMs) return this.ctx.storage.setAlarm(untilMs)
    // Without state, the object costs nothing.
    this.#kept = { untilMs: 0 }
    await this.ctx.storage.deleteAll()
  }

  #keep(kept: Kept, untilMs: number): void {
    const isFirst = this.#kept.untilMs === 0
    this.#kept = { ...kept, untilMs: Math.max(untilMs, this.#kept.untilMs) }
    void this.ctx.storage.put("kept", this.#kept, { allowUnconfirmed: true })
    if (isFirst) void this.ctx.storage.setAlarm(this.#kept.untilMs, { allowUnconfirmed: true })
  }
}
