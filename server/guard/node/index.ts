// @signet/guard/node: a guard with Node's own crypto, fetch and clock.
import { createGuard, type Guard, type GuardOptions } from "../guard.ts"
import { createKeySet, type KeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "./token-crypto.ts"

export { nodeTokenCrypto }

export interface NodeGuardOptions extends Partial<Omit<GuardOptions, "issuer" | "audience" | "appId">> {
  /** Signet's address as its tokens say it (`iss`): "https://auth.example". */
  readonly issuer: string
  /** This service's own name in tokens (`aud`). */
  readonly audience: string
  /** The app whose tokens are accepted (`app_…`), or `anyApp` of `@signet/guard`. */
  readonly appId: string
  /** The issuer's keys. `/.well-known/jwks.json` of the issuer where it is not said. */
  readonly keySet?: KeySet
}

/** A guard for a service on Node: `createNodeGuard({ issuer, audience, appId })`, and whatever else `createGuard` takes. */
export function createNodeGuard(options: NodeGuardOptions): Guard {
  const clock = options.clock ?? { nowMs: () => Date.now() }
  const crypto = options.crypto ?? nodeTokenCrypto
  const url = `${options.issuer}/.well-known/jwks.json`
  return createGuard({
    ...options,
    clock,
    crypto,
    keySet: options.keySet ?? createKeySet({ url, crypto, clock, fetch }),
  })
}
