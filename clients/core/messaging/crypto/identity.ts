import type { Eventually, Suite } from "./suite.ts"

/** Signs with one Ed25519 key that it keeps: a non-extractable CryptoKey, a keystore handle, a smart card. */
export type Signer = (message: Uint8Array) => Eventually<Uint8Array>

/**
 * The suite, with signing keys that are only named.
 *
 * The engine treats a signing key as opaque bytes. Here those bytes are a reference: the key itself never
 * enters the engine, its state or its snapshots.
 *
 * @param resolve the signer of a reference; undefined means that the bytes are no reference of ours.
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
