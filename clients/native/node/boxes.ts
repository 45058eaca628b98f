// The secret box of a Node program for the core: scopes are held by number. Its seals are asynchronous, so the core calls
// them as effects.
import { type HeldBox, isSecretBoxError, type SecretBox, type SecretScope } from "@signet/client"
import { BoxFailure, Primitive, type PrimitiveCall } from "@signet/proto/host/v1/host"
import type { SigningRoots } from "./signing-roots.ts"

export interface Boxes {
  hold(scope: SecretScope, create: boolean): Promise<number>
  release(box: number): void
  /** BOX_SEAL or BOX_OPEN. @throws SecretBoxError */
  run(call: PrimitiveCall): Promise<Uint8Array | undefined>
  rotate(scope: SecretScope): Promise<void>
  destroy(scope: SecretScope): Promise<void>
  releaseAll(): void
}

export function createBoxes(box: SecretBox, roots: SigningRoots): Boxes {
  const held = new Map<number, HeldBox>()
  let last = 0

  function release(number: number): void {
    held.get(number)?.release()
    held.delete(number)
    roots.drop(number)
  }

  return {
    async hold(scope, create) {
      if (create) await box.createKey(scope)
      const holder = box.hold?.(scope) ?? unheld(box, scope)
      const number = ++last
      // Only a device signs.
      if (scope.device !== undefined) await roots.load(number, scope, holder)
      held.set(number, holder)
      return number
    },
    release,
    async run({ primitive, numbers: [number = 0], bytes: [purpose, data] }) {
      const holder = held.get(number)
      if (holder === undefined || purpose === undefined || data === undefined) return undefined
      const named = new TextDecoder().decode(purpose)
      return primitive === Primitive.BOX_SEAL ? holder.seal(named, data) : holder.open(named, data)
    },
    rotate: (scope) => box.rotate(scope),
    async destroy(scope) {
      await box.destroy(scope)
      await roots.remove(scope)
    },
    releaseAll() {
      for (const number of [...held.keys()]) release(number)
    },
  }
}

/** For a box whose keys never leave the platform. */
const unheld = (box: SecretBox, scope: SecretScope): HeldBox => ({
  seal: (purpose, plaintext) => box.seal(scope, purpose, plaintext),
  open: (purpose, sealed) => box.open(scope, purpose, sealed),
  release: () => undefined,
})

/** The number of a box's reason in the contract; undefined for another error. */
export function boxFailureOf(error: unknown): BoxFailure | undefined {
  return isSecretBoxError(error) ? BoxFailure[error.reason] : undefined
}
