// @signet/guard/node: a guard with Node's crypto, fetch and clock.
import { createGuard, type Guard, type GuardOptions } from "../guard.ts"
import { createKeySet, type KeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "./token-crypto.ts"

export { nodeTokenCrypto }

export interface NodeGuardOptions extends Partial<Omit<GuardOptions, "issuer" | "audience" | "appId">> {
  /** Signet's URL as in `iss`: "https://auth.example". */
  readonly issuer: string
  /** This service's own audience (`aud`). */
  readonly audience: string
  /** The app whose tokens are accepted (`app_…`), or `anyApp` of `@signet/guard`. */
  readonly appId: string
  /** The issuer's keys. Default: the issuer's `/.well-known/jwks.json`. */
  readonly keySet?: KeySet
}

/** Creates a guard on Node: `createNodeGuard({ issuer, audience, appId })` and any other option of `createGuard`. */
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
