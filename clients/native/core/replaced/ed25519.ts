// Replaces @signet/canonical/ed25519 in the bundle: the same strict rules, with the curve operations of the host.
import { rememberByKey } from "@signet/canonical/remember-by-key"
import { isSoundKey, isSoundPublicKey, isSoundSignature } from "@signet/canonical/sound-key"
import { callHost, primitive } from "../host.ts"

export type { Signer, SyncSigner, Verify } from "@signet/canonical/ed25519"

/** Equivalent to the portable `verifyEd25519`; a test compares them. */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  if (!isSoundSignature(signature)) return false
  if (usable.of(publicKey) === undefined) return false
  return callHost(primitive.ED25519_VERIFY, publicKey, message, signature) === 1
}

const usable = rememberByKey((publicKey) => (isSoundKey(publicKey) ? { isUsable: true } : undefined), 256)

export const isPublicKey = (bytes: Uint8Array): boolean => bytes.length === 32 && sound.of(bytes) !== undefined

/** Cached: whether a key is a point costs a power of 255 bits. */
const sound = rememberByKey((publicKey) => (isSoundPublicKey(publicKey) ? { isSound: true } : undefined), 256)
