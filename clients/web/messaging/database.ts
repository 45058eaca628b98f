// The messenger's database in IndexedDB: rows of sealed bytes, and one generation per space.
import { MessagingError } from "../../core/messaging/errors.ts"

/**
 * Version 2 has the tables of version 1. In it, a device's record has references to signing keys and no seeds: a program
 * that does not know references must not open it.
 */
const schemaVersion = 2
export const spaces = "space"
export const rows = "sealed"

/** The longest wait for tabs with an earlier version of the app, which close the database when they run. */
const patienceMs = 10_000

/**
 * @throws MessagingError STATE_NEWER_VERSION for a database of a later version, which is not changed; STORE_UNAVAILABLE
 *   while a frozen tab with an earlier version of the app has it open
 */
export async function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, schemaVersion)
  request.onupgradeneeded = ({ oldVersion }) => {
    if (oldVersion > 0) return
    request.result.createObjectStore(spaces)
    request.result.createObjectStore(rows)
  }
  try {
    return await notBlocked(request)
  } catch (cause) {
    if (nameOf(cause) !== "VersionError") throw nameOf(cause) === "InvalidStateError" ? cause : asMessagingError(cause)
    throw new MessagingError("STATE_NEWER_VERSION", "a later version wrote this store", { cause })
  }
}

/** Opens a database in the version that it has, for reads. @returns Undefined if it does not exist. */
export async function openExisting(name: string): Promise<IDBDatabase | undefined> {
  const request = indexedDB.open(name)
  // It is not created.
  request.onupgradeneeded = () => request.transaction?.abort()
  const database = await resultOf(request).catch((error: unknown) => {
    if (nameOf(error) === "AbortError") return undefined
    throw asMessagingError(error)
  })
  if (database === undefined || database.version <= schemaVersion) return database
  database.close()
  throw new MessagingError("STATE_NEWER_VERSION", "a later version wrote this store")
}

export async function databaseExists(name: string): Promise<boolean> {
  const database = await openExisting(name)
  database?.close()
  return database !== undefined
}

async function notBlocked(request: IDBOpenDBRequest): Promise<IDBDatabase> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const opened = resultOf(request)
  const blocked = new Promise<never>((_, reject) => {
    request.onblocked = () => {
      const message = "another tab has this store open with an earlier version of the app: close or reload that tab"
      timer = setTimeout(() => reject(new MessagingError("STORE_UNAVAILABLE", message)), patienceMs)
    }
  })
  try {
    return await Promise.race([opened, blocked])
  } catch (error) {
    // It may still open.
    opened.then(
      (database) => database.close(),
      () => undefined,
    )
    throw error
  } finally {
    clearTimeout(timer)
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
