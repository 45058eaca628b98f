import { Refused } from "@signet/kernel/errors"

/** The maximum size of a blob, which is a part of an attachment. A larger one from a store is refused. */
export const maxBlobBytes = 1_048_576

const keyPattern = /^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/

/** The service creates keys, so an invalid one is a bug. A key has no dot, so it cannot leave its folder. */
export function checkKey(key: string): string {
  if (key.length > 128 || !keyPattern.test(key)) throw new Error("invalid blob key")
  return key
}

export function checkBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.length > maxBlobBytes) throw new Error("the blob exceeds the size limit")
  return bytes
}

/** @param cause For the log. The caller does not learn it. */
export const unavailable = (cause: unknown): Refused => new Refused("UNAVAILABLE", { cause })

export const storageFull = (cause: unknown): Refused => new Refused("STORAGE_FULL", { cause })
