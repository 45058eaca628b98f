import { Refused } from "@signet/kernel/errors"

/** The most that one blob may have: a part of an attachment. A store that says it has more is not believed. */
export const maxBlobBytes = 1_048_576

const keyPattern = /^[a-z0-9_-]+(\/[a-z0-9_-]+)*$/

/** A key is made by the service, so another one is its fault. There is no dot in it, and so no way out of a folder. */
export function checkKey(key: string): string {
  if (key.length > 128 || !keyPattern.test(key)) throw new Error("invalid blob key")
  return key
}

export function checkBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.length > maxBlobBytes) throw new Error("the blob exceeds the size limit")
  return bytes
}

/** Nothing is told of what failed; the log has the cause. */
export const unavailable = (cause: unknown): Refused => new Refused("UNAVAILABLE", { cause })

export const storageFull = (cause: unknown): Refused => new Refused("STORAGE_FULL", { cause })
