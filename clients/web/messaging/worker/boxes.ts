import { type HeldBox, isSecretBoxError, type SecretBox, SecretBoxError, type SecretScope } from "@signet/client"
import { BoxFailure, type BoxScope } from "@signet/proto/host/v1/host"
import { createWebSecretBox } from "../../secret-box.ts"
import { createSigningKeys, type SigningKeys } from "../signing-keys.ts"

/** The keys of one scope. */
export interface WorkerBox {
  readonly scope: SecretScope
  readonly sealing: HeldBox
}

/** The secret boxes that the core holds, by the numbers that it has for them. */
export interface WorkerBoxes {
  readonly box: SecretBox
  readonly signing: SigningKeys
  hold(scope: BoxScope | undefined, create: boolean): Promise<number>
  /** @throws SecretBoxError KEY_MISSING for a number that is not held. */
  of(number: number | undefined): WorkerBox
  release(number: number): void
}

export function createWorkerBoxes(box: SecretBox = createWebSecretBox(), signing = createSigningKeys()): WorkerBoxes {
  const held = new Map<number, WorkerBox>()
  let last = 0
  return {
    ...{ box, signing },
    async hold(given, create) {
      const scope = scopeOf(given)
      if (create) await box.createKey(scope)
      const sealing = box.hold?.(scope)
      if (sealing === undefined) throw new SecretBoxError("SECURE_STORE_UNAVAILABLE", "the box holds no keys")
      last += 1
      held.set(last, { scope, sealing })
      return last
    },
    of(number) {
      const found = number === undefined ? undefined : held.get(number)
      if (found === undefined) throw new SecretBoxError("KEY_MISSING", "no such box is held")
      return found
    },
    release(number) {
      held.get(number)?.sealing.release()
      held.delete(number)
    },
  }
}

/** @throws SecretBoxError WRONG_USER without an app. */
export function scopeOf(scope: BoxScope | undefined): SecretScope {
  if (scope === undefined || scope.app === "") throw new SecretBoxError("WRONG_USER", "a scope names its app")
  const { tenant, app, user, device } = scope
  return { ...(tenant && { tenant }), app, ...(user && { user }), ...(device && { device }) }
}

/** The number of a box's refusal; undefined for another error. */
export function boxFailureOf(error: unknown): BoxFailure | undefined {
  if (!isSecretBoxError(error)) return undefined
  const { reason } = error
  return Object.hasOwn(BoxFailure, reason) ? BoxFailure[reason] : BoxFailure.SECURE_STORE_UNAVAILABLE
}
