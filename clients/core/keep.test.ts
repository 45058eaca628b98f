import { expect, test } from "vitest"
import { createKeep } from "./keep.ts"
import type { SessionRecord } from "./record.ts"
import { memoryBox, memoryShelf } from "./testing/memory-platform.ts"

const of = { appId: "app_1", authBaseUrl: "https://auth.example" }
const user = {
  ...{ sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
}
const record: SessionRecord = { user, refreshToken: "r", retryKey: "k", generation: 1, tokensGoodUntilMs: 0 }
const unsaid: SessionRecord = { ...record, refreshToken: undefined }

function keeps() {
  const shelf = memoryShelf()
  const boxed = (app = of) => createKeep(app, { shelf, refreshToken: { in: "box", box } })
  const box = memoryBox()
  return { shelf, boxed, cookie: createKeep(of, { shelf, refreshToken: { in: "cookie" } }) }
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
  const { boxed, shelf } = keeps()
  const [name = ""] = (await boxed().put(record, "any")) ? [...shelf.all.keys()] : []
  for (const other of [
    { ...of, appId: "app_2" },
    { ...of, authBaseUrl: "https://other.example" },
  ]) {
    expect(await boxed(other).load()).toBeUndefined()
    const there = name.replace(of.appId, other.appId).replace(of.authBaseUrl, other.authBaseUrl)
    shelf.all.set(there, shelf.all.get(name) ?? expect.fail("nothing kept"))
    await expect(boxed(other).load()).rejects.toMatchObject(failed)
  }
})

test("nothing is sealed before there is a key for it", async () => {
  const { shelf } = keeps()
  const box = memoryBox()
  let keys = 0
  const keyed: typeof box = {
    ...box,
    async createKey() {
      keys++
    },
    seal: (...of) => (keys > 0 ? box.seal(...of) : Promise.reject(new Error("no key"))),
  }
  await createKeep(of, { shelf, refreshToken: { in: "box", box: keyed } }).put(record, "any")
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
  const { boxed, shelf } = keeps()
  const bytes = (byte: number) => new Uint8Array([byte])
  const keep = boxed()
  const add = (before: Uint8Array | undefined) => ({ after: bytes((before?.[0] ?? 0) + 1), value: before?.[0] })
  expect(await keep.change("count", add)).toBeUndefined()
  expect(await keep.change("count", add)).toBe(1)
  expect(await keep.change("count", (before) => ({ after: undefined, value: before?.[0] }))).toBe(2)
  const { write } = shelf
  let between = 0
  shelf.write = async (name, value, expected) => (++between > 1 ? write(name, value, expected) : undefined)
  expect(await keep.change("count", add)).toBe(2)
  shelf.write = async () => undefined
  await expect(keep.change("count", add)).rejects.toMatchObject({ reason: "LOCK_BUSY" })
  shelf.write = write
  // A value that does not open is older than the key, and is replaced.
  for (const [name, kept] of shelf.all) shelf.all.set(name, { ...kept, bytes: bytes(9) })
  expect(await keep.change("count", add)).toBeUndefined()
  expect(await keep.change("count", add)).toBe(1)
})

test("a failing platform is STORE_FAILED", async () => {
  const { boxed, shelf } = keeps()
  const fail = () => Promise.reject(new Error("the disk is full"))
  Object.assign(shelf, { read: fail, write: fail, remove: fail })
  const keep = boxed()
  for (const work of [keep.load(), keep.put(record, "any"), keep.remove("any"), keep.putNote("n", {})]) {
    await expect(work).rejects.toMatchObject(failed)
  }
})
