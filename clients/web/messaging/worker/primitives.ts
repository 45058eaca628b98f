// The primitives that answer at once. A browser's own cryptography is asynchronous, so noble computes these: the hashes,
// whose inputs are short, and the verification of signatures, which has no secret.

import { expand } from "@noble/hashes/hkdf.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256, sha512 } from "@noble/hashes/sha2.js"
import type { Primitives, Value } from "@signet/client-native/wasm"
import { LogLevel, Primitive } from "@signet/proto/host/v1/host"
import { verifyEd25519 } from "../../../core/messaging/crypto/web-suite.ts"

const utf8 = new TextEncoder()
const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
/** Of `crypto.getRandomValues`. */
const mostRandom = 65_536

export function createPrimitives(): Primitives {
  const hashes = new Map<number, ReturnType<typeof sha256.create>>()
  let lastHash = 0
  return {
    [Primitive.RANDOM]: (length) =>
      isNumber(length) && length <= mostRandom ? crypto.getRandomValues(new Uint8Array(length)) : undefined,
    [Primitive.NOW]: () => Date.now(),
    [Primitive.MONOTONIC]: () => Math.floor(performance.now() * 1_000),
    [Primitive.SHA256]: (data) => (isBytes(data) ? sha256(data) : undefined),
    [Primitive.SHA512]: (data) => (isBytes(data) ? sha512(data) : undefined),
    [Primitive.HMAC_SHA256]: (key, data) => (isBytes(key) && isBytes(data) ? hmac(sha256, key, data) : undefined),
    [Primitive.HKDF_EXPAND]: (key, info, length) =>
      isBytes(key) && isBytes(info) && isNumber(length) ? expand(sha256, key, info, length) : undefined,
    [Primitive.ED25519_VERIFY]: (key, message, signature) =>
      isBytes(key) && isBytes(message) && isBytes(signature) && verifyEd25519(key, message, signature) ? 1 : 0,
    [Primitive.HASH_BEGIN]() {
      lastHash += 1
      hashes.set(lastHash, sha256.create())
      return lastHash
    },
    [Primitive.HASH_UPDATE](hash, data) {
      if (isNumber(hash) && isBytes(data)) hashes.get(hash)?.update(data)
      return undefined
    },
    [Primitive.HASH_END](hash) {
      const running = isNumber(hash) ? hashes.get(hash) : undefined
      if (isNumber(hash)) hashes.delete(hash)
      return running?.digest()
    },
    [Primitive.UTF8_ENCODE]: (given) => (typeof given === "string" ? utf8.encode(given) : undefined),
    [Primitive.UTF8_DECODE]: (bytes) => (isBytes(bytes) ? decoded(bytes) : undefined),
    [Primitive.LOG](level, line) {
      if (isNumber(level) && level >= LogLevel.WARNING) console.warn(`signet messenger: ${line}`)
      return undefined
    },
  }
}

const isBytes = (value: Value): value is Uint8Array => value instanceof Uint8Array
const isNumber = (value: Value): value is number => typeof value === "number"

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return text.decode(bytes)
  } catch {
    return undefined
  }
}
