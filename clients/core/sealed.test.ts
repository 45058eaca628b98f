import { afterEach, expect, test, vi } from "vitest"
import { importSealingKey, openBytes, type SealingKey, sealBytes } from "./sealed.ts"

afterEach(() => vi.restoreAllMocks())

const box = { backend: "test", version: 1 }
const scope = { app: "app_1", user: "ada" }
const plaintext = new TextEncoder().encode("sgrt_1")
const keyOf = (byte: number) => importSealingKey(new Uint8Array(32).fill(byte))
const only = (key: SealingKey) => (id: string) => (id === key.id ? key : undefined)

test("open only with the scope, purpose and box that sealed them", async () => {
  const key = await keyOf(1)
  const place = { scope, purpose: "token" }
  const sealed = await sealBytes(box, key, place, plaintext)
  expect(await openBytes(box, only(key), place, sealed)).toEqual(plaintext)
  const refused = async (open: Promise<unknown>, reason: string) =>
    expect(open).rejects.toMatchObject({ name: "SecretBoxError", reason })
  for (const other of [
    { ...scope, user: "eve" },
    { app: "app_1" },
    { ...scope, tenant: "ten_1" },
    { app: "app_1", device: "ada" },
  ]) {
    await refused(openBytes(box, only(key), { scope: other, purpose: "token" }, sealed), "WRONG_USER")
  }
  await refused(openBytes(box, only(key), { scope, purpose: "state" }, sealed), "STATE_TAMPERED")
  await refused(openBytes({ ...box, backend: "best" }, only(key), place, sealed), "SECURE_STORE_CHANGED")
  await refused(openBytes(box, only(await keyOf(2)), place, sealed), "SECURE_STORE_CHANGED")
  const later = await sealBytes({ ...box, version: 2 }, key, place, plaintext)
  await refused(openBytes(box, only(key), place, later), "STATE_NEWER_VERSION")
})

test("differ every time, and contain no plaintext", async () => {
  const key = await keyOf(1)
  const seal = () => sealBytes(box, key, { scope, purpose: "token" }, plaintext)
  const [one, two] = [await seal(), await seal()]
  expect(one).not.toEqual(two)
  expect(Buffer.from(one).includes("sgrt_")).toBe(false)
})

test("of a key that was imported no copy stays in memory", async () => {
  const spy = vi.spyOn(crypto.subtle, "importKey")
  const raw = new Uint8Array(32).fill(7)
  await importSealingKey(raw)
  const copies = spy.mock.calls.map(([, bytes]) => bytes)
  expect(copies).toEqual([new Uint8Array(32)])
  // The original is the caller's to wipe.
  expect(raw).toEqual(new Uint8Array(32).fill(7))
})

test("with any byte changed, or cut anywhere, do not open", async () => {
  const key = await keyOf(1)
  const place = { scope, purpose: "token" }
  const sealed = await sealBytes(box, key, place, plaintext)
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    await expect(openBytes(box, only(key), place, changed)).rejects.toMatchObject({ name: "SecretBoxError" })
    await expect(openBytes(box, only(key), place, sealed.subarray(0, at))).rejects.toMatchObject({
      name: "SecretBoxError",
    })
  }
})

test("bytes of another kind, of a later format or too few are refused with the reason", async () => {
  const key = await keyOf(1)
  const place = { scope, purpose: "token" }
  const sealed = await sealBytes(box, key, place, plaintext)
  const bent = (at: number) => sealed.map((byte, i) => (i === at ? byte ^ 2 : byte))
  const open = (bytes: Uint8Array) => openBytes(box, only(key), place, bytes)
  const none = { reason: "STATE_TAMPERED", message: expect.stringContaining("not sealed data") }
  for (const at of [0, 3]) await expect(open(bent(at))).rejects.toMatchObject(none)
  await expect(open(bent(4))).rejects.toMatchObject({ reason: "STATE_NEWER_VERSION" })
  const header = sealed.length - plaintext.length - 16
  for (const length of [header, header + 15]) await expect(open(sealed.subarray(0, length))).rejects.toMatchObject(none)
  const empty = await sealBytes(box, key, place, new Uint8Array())
  expect(await open(empty)).toEqual(new Uint8Array())
})

test("hashes of scopes are cached up to a limit", async () => {
  const key = await keyOf(3)
  const spy = vi.spyOn(crypto.subtle, "digest")
  const seal = (user: string) => sealBytes(box, key, { scope: { app: "app_1", user }, purpose: "token" }, plaintext)
  await seal("first")
  await seal("second")
  await seal("first")
  expect(spy).toHaveBeenCalledTimes(2)
  for (let i = 0; i < 64; i++) await seal(`user ${i}`)
  spy.mockClear()
  await seal("first")
  expect(spy).toHaveBeenCalledTimes(1)
})
