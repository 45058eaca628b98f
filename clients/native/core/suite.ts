import { verifyEd25519 } from "@signet/canonical/ed25519"
import type { Suite } from "../../core/messaging/platform.ts"
import {
  bytesFrom,
  HostError,
  hkdfExpand,
  hmacSha256,
  type PrimitiveNumber,
  primitive,
  random,
  sha256,
  type Value,
} from "./host.ts"
import { invoke, isDeferred, whenKnown } from "./invoke.ts"

/**
 * Cipher suite 1 by the host's primitives. Signing keys are references: the key itself stays with the host.
 *
 * @param signingBox Returns the held box whose scope has the signing root.
 */
export function createSuite(signingBox: () => number): Suite {
  return {
    digest: sha256,
    mac: hmacSha256,
    extract: (salt, input) => hmacSha256(salt, input),
    expand: hkdfExpand,
    seal(key, nonce, aad, plaintext) {
      checkLength(key, 16)
      checkLength(nonce, 12)
      return bytesOf(primitive.AES_GCM_SEAL, plaintext.length + 16, key, nonce, aad, plaintext)
    },
    open(key, nonce, aad, ciphertext) {
      checkLength(key, 16)
      checkLength(nonce, 12)
      const opened = invoke(primitive.AES_GCM_OPEN, key, nonce, aad, ciphertext)
      return whenKnown(opened, (value) => {
        if (value === undefined) throw new Error("the ciphertext does not match its tag")
        return bytesFrom(value, primitive.AES_GCM_OPEN, ciphertext.length - 16)
      })
    },
    dhKeyPair(given) {
      if (given !== undefined) checkLength(given, 32)
      const privateKey = given ?? random(32)
      const made = bytesOf(primitive.X25519_PUBLIC, 32, privateKey)
      return whenKnown(made, (publicKey) => ({ privateKey, publicKey }))
    },
    dh(privateKey, publicKey) {
      checkLength(privateKey, 32)
      checkLength(publicKey, 32)
      return whenKnown(invoke(primitive.X25519, privateKey, publicKey), (value) => {
        if (value === undefined) throw new Error("X25519 gave zero")
        return bytesFrom(value, primitive.X25519, 32)
      })
    },
    sign(reference, message) {
      checkLength(reference, 32)
      return bytesOf(primitive.ED25519_SIGN, 64, signingBox(), reference, message)
    },
    verify: verifyEd25519,
    signatureKeyPair() {
      const made = bytesOf(primitive.ED25519_GENERATE, 64, signingBox())
      return whenKnown(made, (both) => ({ seed: both.slice(0, 32), publicKey: both.slice(32) }))
    },
    // Other hosts have had references from the start.
    ...(isDeferred(primitive.ED25519_IMPORT) && {
      importSeed(seed: Uint8Array, publicKey: Uint8Array) {
        checkLength(seed, 32)
        checkLength(publicKey, 32)
        return bytesOf(primitive.ED25519_IMPORT, 32, signingBox(), seed, publicKey)
      },
    }),
    random,
  }
}

function checkLength(bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw new HostError("HOST_REFUSED", `a key or nonce has ${length} bytes`)
}

function bytesOf(operation: PrimitiveNumber, length: number, ...args: readonly (number | Uint8Array)[]) {
  return whenKnown<Value, Uint8Array>(invoke(operation, ...args), (value) => bytesFrom(value, operation, length))
}
