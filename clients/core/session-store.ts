// The stored sign-in: sealed if the platform has a box, and bound to its app and service.
import type { Platform } from "./client.ts"
import { SignetError } from "./errors.ts"
import { encodeNote, encodeRecord, type Note, parseNote, parseRecord, type SessionRecord } from "./record.ts"
import type { SecretScope } from "./secret-box.ts"

export interface StoredSession {
  readonly revision: string
  readonly record: SessionRecord
}

/** All functions throw SignetError STORE_FAILED if the platform fails; nothing has changed then. */
export interface SessionStore {
  load(): Promise<StoredSession | undefined>
  /** @returns The new revision; undefined if the stored revision is not the expected one. */
  put(record: SessionRecord, expected: string | "any"): Promise<string | undefined>
  /** @returns False if the stored revision is not the expected one. */
  remove(expected: string | "any"): Promise<boolean>
  loadNote(name: string): Promise<Note | undefined>
  putNote(name: string, note: Note): Promise<void>
  removeNote(name: string): Promise<void>
  /**
   * Changes named bytes atomically among all tabs.
   *
   * @param work Runs again after a concurrent change. `after` undefined leaves the bytes unchanged.
   */
  change<T>(name: string, work: (before: Uint8Array | undefined) => Changed<T>): Promise<T>
}

interface Changed<T> {
  readonly after: Uint8Array | undefined
  readonly value: T
}

/** The most attempts after concurrent changes. */
const rounds = 32

type Parts = Pick<Platform, "storage" | "refreshToken">

export function createSessionStore(
  of: { appId: string; authBaseUrl: string },
  { storage, refreshToken }: Parts,
): SessionStore {
  const place = `${of.appId} ${of.authBaseUrl}`
  const sessionName = `session ${place}`
  const noteName = (name: string) => `${name} ${place}`
  const scope: SecretScope = { app: of.appId }

  /** The name is sealed as the purpose, so bytes under another name do not open. */
  async function seal(name: string, bytes: Uint8Array): Promise<Uint8Array> {
    if (refreshToken.in === "cookie") return bytes
    await refreshToken.box.createKey(scope)
    return refreshToken.box.seal(scope, name, bytes)
  }
  const open = async (name: string, bytes: Uint8Array) =>
    refreshToken.in === "cookie" ? bytes : refreshToken.box.open(scope, name, bytes)

  return {
    load: () =>
      kept("read", async () => {
        const found = await storage.read(sessionName)
        if (found === undefined) return undefined
        const record = parseRecord(await open(sessionName, found.bytes))
        const isWhole = record !== undefined && (record.refreshToken === undefined) === (refreshToken.in === "cookie")
        if (!isWhole) throw new SignetError("STORE_FAILED", "the stored sign-in was written by another version")
        return { revision: found.revision, record }
      }),
    put: (record, expected) =>
      kept("written", async () => storage.write(sessionName, await seal(sessionName, encodeRecord(record)), expected)),
    remove: (expected) => kept("removed", () => storage.remove(sessionName, expected)),
    loadNote: (name) =>
      kept("read", async () => {
        const found = await storage.read(noteName(name))
        return found && parseNote(await open(noteName(name), found.bytes))
      }),
    putNote: (name, note) =>
      kept("written", async () => {
        await storage.write(noteName(name), await seal(noteName(name), encodeNote(note)), "any")
      }),
    change: (name, work) =>
      kept("written", async () => {
        const at = noteName(name)
        for (let round = 0; round < rounds; round++) {
          const found = await storage.read(at)
          // A value that does not open is older than the key, and is replaced.
          const before = found && (await open(at, found.bytes).catch(() => undefined))
          const { after, value } = work(before)
          if (after === undefined) return value
          if ((await storage.write(at, await seal(at, after), found?.revision)) !== undefined) return value
        }
        throw new SignetError("LOCK_BUSY", "other tabs changed the stored value at every attempt: try again later")
      }),
    removeNote: (name) =>
      kept("removed", async () => {
        await storage.remove(noteName(name), "any")
      }),
  }
}

async function kept<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof SignetError) throw cause
    throw new SignetError("STORE_FAILED", `the sign-in could not be ${what}`, { cause })
  }
}
