import type { Eventually, Suite } from "./suite.ts"

/** Signs with one Ed25519 key, such as a non-extractable CryptoKey, a keystore handle or a smart card. */
export type Signer = (message: Uint8Array) => Eventually<Uint8Array>

/**
 * Extends a suite with signing keys that are held outside.
 *
 * The engine treats a signing key as opaque bytes. With this suite, those bytes are a reference: the key itself never
 * enters the engine, its state or its snapshots.
 *
 * @param resolve Returns the signer of a reference; undefined for bytes that are no reference.
 */
export function withIdentities(suite: Suite, resolve: (reference: Uint8Array) => Signer | undefined): Suite {
  return {
    ...suite,
    sign(key, message) {
      const signer = resolve(key)
      if (signer === undefined) throw new Error("no identity key answers to this reference")
      return signer(message)
    },
  }
}
