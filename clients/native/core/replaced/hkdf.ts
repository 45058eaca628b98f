// Replaces @noble/hashes/hkdf.js in the bundle. The client uses it with SHA-256 only.
import { hkdfExpand } from "../host.ts"
import { hmac } from "./hmac.ts"

const empty = new Uint8Array()

/** An absent salt is 32 zero bytes (RFC 5869 section 2.2), which HMAC pads an empty key to. */
export const extract = (hash: unknown, input: Uint8Array, salt: Uint8Array = empty): Uint8Array =>
  hmac(hash, salt, input)

export const expand = (_hash: unknown, key: Uint8Array, info: Uint8Array = empty, length = 32): Uint8Array =>
  hkdfExpand(key, info, length)

export const hkdf = (
  hash: unknown,
  input: Uint8Array,
  salt: Uint8Array | undefined,
  info: Uint8Array | undefined,
  length: number,
): Uint8Array => expand(hash, extract(hash, input, salt), info, length)
