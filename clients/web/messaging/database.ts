// The messenger's database in IndexedDB: rows of sealed bytes, and one generation per space.
import { MessagingError } from "@signet/client/messaging"

const schemaVersion = 1
export const spaces = "space"
export const rows = "sealed"

/** @throws MessagingError STATE_NEWER_VERSION for a database of a later version, which is not changed. */
export async function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, schemaVersion)
  request.onupgradeneeded = () => {
    request.result.createObjectStore(spaces)
    request.result.createObjectStore(rows)
  }
  try {
    return await resultOf(request)
  } catch (cause) {
    if (nameOf(cause) !== "VersionError") throw nameOf(cause) === "InvalidStateError" ? cause : asMessagingError(cause)
    throw new MessagingError("STATE_NEWER_VERSION", "a later version wrote this store", { cause })
  }
}

export function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error("IndexedDB failed"))
  })
}

/** Maps the browser's errors to those that an app can handle. */
export function asMessagingError(cause: unknown): unknown {
  switch (nameOf(cause)) {
    case "QuotaExceededError":
      return new MessagingError("STORE_FULL", "the browser's storage quota for this origin is exceeded", { cause })
    // Site data was cleared, or another tab deleted or upgraded the database.
    case "InvalidStateError":
      return new MessagingError("CLOSED", "the browser has closed this store", { cause })
    default:
      return cause
  }
}

const nameOf = (error: unknown): unknown => Object(error).name
