// Replaces @noble/hashes/hmac.js in the bundle. The client uses it with SHA-256 only.
import { hmacSha256 } from "../host.ts"
import { sha256 } from "./sha2.ts"

export function hmac(hash: unknown, key: Uint8Array, message: Uint8Array): Uint8Array {
  if (hash !== sha256) throw new TypeError("only HMAC-SHA256 is supported here")
  return hmacSha256(key, message)
}
