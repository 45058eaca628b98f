// The sign-in on the shelf: sealed where the platform has a box, and bound to the app and the service that it is for.
import type { Platform } from "./client.ts"
import { SignetError } from "./errors.ts"
import { encodeNote, encodeRecord, type Note, parseNote, parseRecord, type SessionRecord } from "./record.ts"
import type { SecretScope } from "./secret-box.ts"

export interface KeptRecord {
  readonly revision: string
  readonly record: SessionRecord
}

/** Every function throws SignetError STORE_FAILED where the platform fails, and then nothing has changed. */
export interface Keep {
  load(): Promise<KeptRecord | undefined>
  /** @returns The new revision; undefined when another than the expected is there. */
  put(record: SessionRecord, expected: string | "any"): Promise<string | undefined>
  /** @returns False when another than the expected is there. */
  remove(expected: string | "any"): Promise<boolean>
  loadNote(name: string): Promise<Note | undefined>
  putNote(name: string, note: Note): Promise<void>
  removeNote(name: string): Promise<void>
  /**
   * Changes named bytes in one step, among all tabs.
   *
   * @param work Runs again when another tab came between. `after` undefined leaves them as they are.
   */
  change<T>(name: string, work: (before: Uint8Array | undefined) => Changed<T>): Promise<T>
}

interface Changed<T> {
  readonly after: Uint8Array | undefined
  readonly value: T
}

/** How often others may come between. */
const rounds = 32

type Parts = Pick<Platform, "shelf" | "refreshToken">

export function createKeep(of: { appId: string; authBaseUrl: string }, { shelf, refreshToken }: Parts): Keep {
  const place = `${of.appId} ${of.authBaseUrl}`
  const sessionName = `session ${place}`
  const noteName = (name: string) => `${name} ${place}`
  const scope: SecretScope = { app: of.appId }

  /** The name is sealed in as the purpose, so nothing opens that was put under another. */
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
        const found = await shelf.read(sessionName)
        if (found === undefined) return undefined
        const record = parseRecord(await open(sessionName, found.bytes))
        const isWhole = record !== undefined && (record.refreshToken === undefined) === (refreshToken.in === "cookie")
        if (!isWhole) throw new SignetError("STORE_FAILED", "what was kept was written by another version")
        return { revision: found.revision, record }
      }),
    put: (record, expected) =>
      kept("written", async () => shelf.write(sessionName, await seal(sessionName, encodeRecord(record)), expected)),
    remove: (expected) => kept("removed", () => shelf.remove(sessionName, expected)),
    loadNote: (name) =>
      kept("read", async () => {
        const found = await shelf.read(noteName(name))
        return found && parseNote(await open(noteName(name), found.bytes))
      }),
    putNote: (name, note) =>
      kept("written", async () => {
        await shelf.write(noteName(name), await seal(noteName(name), encodeNote(note)), "any")
      }),
    change: (name, work) =>
      kept("written", async () => {
        const at = noteName(name)
        for (let round = 0; round < rounds; round++) {
          const found = await shelf.read(at)
          // What does not open is replaced: it is older than the key.
          const before = found && (await open(at, found.bytes).catch(() => undefined))
          const { after, value } = work(before)
          if (after === undefined) return value
          if ((await shelf.write(at, await seal(at, after), found?.revision)) !== undefined) return value
        }
        throw new SignetError("LOCK_BUSY", "others change this all the time")
      }),
    removeNote: (name) =>
      kept("removed", async () => {
        await shelf.remove(noteName(name), "any")
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
