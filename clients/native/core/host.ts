// The host's primitives as a typed table. The polyfills use it, so it imports no code.
import type { OutputKind, Primitive } from "@signet/proto/host/v1/host"

export type Value = number | string | Uint8Array | undefined

/** The one function of the host. It returns nothing to refuse. */
declare const host: (primitive: number, ...args: readonly (number | string | Uint8Array)[]) => Value

export const primitive = {
  RANDOM: 1,
  NOW: 2,
  SHA256: 3,
  SHA512: 4,
  HMAC_SHA256: 5,
  HKDF_EXPAND: 6,
  AES_GCM_SEAL: 7,
  AES_GCM_OPEN: 8,
  X25519_PUBLIC: 9,
  X25519: 10,
  ED25519_GENERATE: 11,
  ED25519_SIGN: 12,
  ED25519_VERIFY: 13,
  BOX_SEAL: 14,
  BOX_OPEN: 15,
  HASH_BEGIN: 16,
  HASH_UPDATE: 17,
  HASH_END: 18,
  ARGON2ID: 19,
  UTF8_ENCODE: 20,
  UTF8_DECODE: 21,
  LOG: 22,
  OUTPUT: 23,
  MONOTONIC: 24,
  ED25519_IMPORT: 28,
} as const satisfies Omit<
  { readonly [Name in keyof typeof Primitive]: (typeof Primitive)[Name] },
  // The last three are between libsignet and its program.
  "PRIMITIVE_UNSPECIFIED" | "BOX_WRAP" | "BOX_UNWRAP" | "BOX_FORGET"
>

export const output = {
  REPLY: 1,
  REPLY_FAILURE: 2,
  EVENT: 3,
  EFFECT: 4,
  CANCEL: 5,
  WAKE_AT: 6,
} as const satisfies Omit<
  { readonly [Name in keyof typeof OutputKind]: (typeof OutputKind)[Name] },
  "OUTPUT_KIND_UNSPECIFIED"
>

export type PrimitiveNumber = (typeof primitive)[keyof typeof primitive]

export const callHost = (operation: PrimitiveNumber, ...args: readonly (number | string | Uint8Array)[]): Value =>
  host(operation, ...args)

/** A host that does not do what the interface requires. */
export class HostError extends Error {
  override readonly name = "HostError"
  /** The name of an EffectFailure.Kind, or HOST_REFUSED. */
  readonly reason: string

  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

const nameOf = (operation: number) =>
  Object.entries(primitive).find(([, number]) => number === operation)?.[0] ?? String(operation)

/** @throws HostError HOST_REFUSED for an answer that is no bytes, or of another length. */
export function bytesFrom(value: Value, operation: PrimitiveNumber, length?: number): Uint8Array<ArrayBuffer> {
  if (value instanceof Uint8Array && value.buffer instanceof ArrayBuffer) {
    if (length === undefined || value.length === length)
      return new Uint8Array(value.buffer, value.byteOffset, value.length)
  }
  throw new HostError("HOST_REFUSED", `the host refused ${nameOf(operation)}, or answered with bytes of another length`)
}

export function numberFrom(value: Value, operation: PrimitiveNumber): number {
  if (typeof value === "number") return value
  throw new HostError("HOST_REFUSED", `the host refused ${nameOf(operation)}`)
}

export const random = (length: number): Uint8Array<ArrayBuffer> =>
  bytesFrom(callHost(primitive.RANDOM, length), primitive.RANDOM, length)

export const sha256 = (data: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytesFrom(callHost(primitive.SHA256, data), primitive.SHA256, 32)

export const sha512 = (data: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytesFrom(callHost(primitive.SHA512, data), primitive.SHA512, 64)

export const hmacSha256 = (key: Uint8Array, data: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytesFrom(callHost(primitive.HMAC_SHA256, key, data), primitive.HMAC_SHA256, 32)

export const hkdfExpand = (key: Uint8Array, info: Uint8Array, length: number): Uint8Array<ArrayBuffer> =>
  bytesFrom(callHost(primitive.HKDF_EXPAND, key, info, length), primitive.HKDF_EXPAND, length)

/** Writes a line without secrets to the host's log. @param level As in LogLevel. */
export function log(level: 1 | 2 | 3, text: string): void {
  callHost(primitive.LOG, level, text)
}

const nothing = new Uint8Array()

export function emit(kind: (typeof output)[keyof typeof output], id: number, bytes: Uint8Array = nothing): void {
  callHost(primitive.OUTPUT, kind, id, bytes)
}
