import { expect, test } from "vitest"
import type { SessionRecord } from "./record.ts"
import { createSessionStore } from "./session-store.ts"
import { memoryBox, memoryStorage } from "./testing/memory-platform.ts"

const of = { appId: "app_1", authBaseUrl: "https://auth.example" }
const user = {
  ...{ sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
}
const record: SessionRecord = { user, refreshToken: "r", retryKey: "k", generation: 1, tokensGoodUntilMs: 0 }
const unsaid: SessionRecord = { ...record, refreshToken: undefined }

function keeps() {
  const storage = memoryStorage()
  const boxed = (app = of) => createSessionStore(app, { storage, refreshToken: { in: "box", box } })
  const box = memoryBox()
  return { storage, boxed, cookie: createSessionStore(of, { storage, refreshToken: { in: "cookie" } }) }
}
const failed = { reason: "STORE_FAILED" }

test("a sign-in is restored with the platform's place of the refresh token, and with no other", async () => {
  const { boxed, cookie } = keeps()
  expect(await boxed().load()).toBeUndefined()
  await boxed().put(record, "any")
  expect((await boxed().load())?.record).toEqual(record)
  // Without the box, the sealed record is unreadable.
  await expect(cookie.load()).rejects.toMatchObject(failed)
  await boxed().put(unsaid, "any")
  await expect(boxed().load()).rejects.toMatchObject(failed)
  await cookie.put(unsaid, "any")
  expect((await cookie.load())?.record).toEqual(unsaid)
  await cookie.put(record, "any")
  await expect(cookie.load()).rejects.toMatchObject(failed)
  await expect(boxed().load()).rejects.toMatchObject(failed)
})

test("a sign-in of another app or service is not found, and a record under another name does not open", async () => {
  const { boxed, storage } = keeps()
  const [name = ""] = (await boxed().put(record, "any")) ? [...storage.all.keys()] : []
  for (const other of [
    { ...of, appId: "app_2" },
    { ...of, authBaseUrl: "https://other.example" },
  ]) {
    expect(await boxed(other).load()).toBeUndefined()
    const there = name.replace(of.appId, other.appId).replace(of.authBaseUrl, other.authBaseUrl)
    storage.all.set(there, storage.all.get(name) ?? expect.fail("nothing kept"))
    await expect(boxed(other).load()).rejects.toMatchObject(failed)
  }
})

test("nothing is sealed before there is a key for it", async () => {
  const { storage } = keeps()
  const box = memoryBox()
  let keys = 0
  const keyed: typeof box = {
    ...box,
    async createKey() {
      keys++
    },
    seal: (...of) => (keys > 0 ? box.seal(...of) : Promise.reject(new Error("no key"))),
  }
  await createSessionStore(of, { storage, refreshToken: { in: "box", box: keyed } }).put(record, "any")
  expect(keys).toBe(1)
})

test("a concurrent change is neither overwritten nor removed", async () => {
  const { boxed } = keeps()
  const first = (await boxed().put(record, "any")) ?? expect.fail("not written")
  const second = await boxed().put({ ...record, generation: 2 }, first)
  expect(second).toBeDefined()
  expect(await boxed().put({ ...record, generation: 3 }, first)).toBeUndefined()
  expect(await boxed().remove(first)).toBe(false)
  expect((await boxed().load())?.record.generation).toBe(2)
  expect(await boxed().remove(second ?? "")).toBe(true)
  expect(await boxed().load()).toBeUndefined()
})

test("notes are stored, read and removed", async () => {
  const { boxed } = keeps()
  expect(await boxed().loadNote("logout")).toBeUndefined()
  await boxed().putNote("logout", { is: "due" })
  expect(await boxed().loadNote("logout")).toEqual({ is: "due" })
  await boxed().removeNote("logout")
  expect(await boxed().loadNote("logout")).toBeUndefined()
})

test("a change with a concurrent one is retried a bounded number of times", async () => {
  const { boxed, storage } = keeps()
  const bytes = (byte: number) => new Uint8Array([byte])
  const sessions = boxed()
  const add = (before: Uint8Array | undefined) => ({ after: bytes((before?.[0] ?? 0) + 1), value: before?.[0] })
  expect(await sessions.change("count", add)).toBeUndefined()
  expect(await sessions.change("count", add)).toBe(1)
  expect(await sessions.change("count", (before) => ({ after: undefined, value: before?.[0] }))).toBe(2)
  const { write } = storage
  let between = 0
  storage.write = async (name, value, expected) => (++between > 1 ? write(name, value, expected) : undefined)
  expect(await sessions.change("count", add)).toBe(2)
  storage.write = async () => undefined
  await expect(sessions.change("count", add)).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  storage.write = write
  // A value that does not open is older than the key, and is replaced.
  for (const [name, kept] of storage.all) storage.all.set(name, { ...kept, bytes: bytes(9) })
  expect(await sessions.change("count", add)).toBeUndefined()
  expect(await sessions.change("count", add)).toBe(1)
})

test("a failing platform is STORE_FAILED", async () => {
  const { boxed, storage } = keeps()
  const fail = () => Promise.reject(new Error("the disk is full"))
  Object.assign(storage, { read: fail, write: fail, remove: fail })
  const sessions = boxed()
  for (const work of [
    sessions.load(),
    sessions.put(record, "any"),
    sessions.remove("any"),
    sessions.putNote("n", {}),
  ]) {
    await expect(work).rejects.toMatchObject(failed)
  }
})
