// Browsers that cannot store a CryptoKey, by substitutes for their IndexedDB: each is refused with a reason, and no key
// is stored in any other form. test/interop tests real browsers.
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { createWebSecretBox } from "./secret-box.ts"

const scope = { app: "app_1", user: "ada" }
const bytes = new TextEncoder().encode("secret")

type Flaw =
  | "none"
  /** Private windows of some browsers, and pages without permission for storage. */
  | "refuses to open"
  /** An engine with CryptoKey but without its structured clone. */
  | "cannot clone keys"
  /** Stores the object around a key, and returns it empty. */
  | "loses keys"
  /** The same, after the write. */
  | "loses keys later"
  /** The same, but at the first write only. */
  | "loses keys later, once"
  /** Stores the name without a value. */
  | "keeps an empty entry"
  | "gives raw keys back"
  | "has no room"

/** The part of IndexedDB that one store needs. */
function indexedDbThat(flaw: Flaw, kept: Map<string, unknown>): Pick<IDBFactory, "open"> {
  const later = (work: () => void) => setTimeout(work)
  let losses = 0
  function transaction() {
    const before = new Map(kept)
    const made: Record<string, unknown> = { error: null }
    let isAborted = false
    const call = (name: string) => later(() => typeof made[name] === "function" && made[name]())
    let waiting = 0
    const abort = (error: unknown = null) => {
      if (isAborted) return
      isAborted = true
      made.error = error
      kept.clear()
      for (const [key, value] of before) kept.set(key, value)
      call("onabort")
    }
    const request = (result: unknown) => {
      const asked: { result: unknown; onsuccess?: () => void } = { result }
      waiting++
      later(() => {
        if (!isAborted) asked.onsuccess?.()
        waiting--
        if (isAborted || waiting > 0) return
        for (const lose of losing) lose()
        call("oncomplete")
      })
      return asked
    }
    const losing: (() => void)[] = []
    return Object.assign(made, {
      abort,
      objectStore: () => ({
        get: (key: string) => request(structuredClone(kept.get(key))),
        put(value: { keys: { key: unknown }[] }, key: string) {
          if (flaw === "cannot clone keys") throw new DOMException("a CryptoKey could not be cloned", "DataCloneError")
          if (flaw === "has no room") return abort(new DOMException("full", "QuotaExceededError"))
          const strange = (instead: unknown) => ({
            ...value,
            keys: value.keys.map((one) => ({ ...one, key: instead })),
          })
          const lose = () => kept.set(key, strange({}))
          if (flaw === "loses keys") lose()
          else if (flaw === "keeps an empty entry") kept.set(key, {})
          else if (flaw === "gives raw keys back") kept.set(key, strange(new Uint8Array(32)))
          else kept.set(key, structuredClone(value))
          if (flaw === "loses keys later" || (flaw === "loses keys later, once" && losses++ === 0)) losing.push(lose)
        },
        delete: (key: string) => kept.delete(key),
      }),
    })
  }
  const open = () => {
    const request: Record<string, unknown> = {}
    later(() => {
      if (flaw === "refuses to open") {
        request.error = new DOMException("not in this window", "SecurityError")
        return typeof request.onerror === "function" && request.onerror()
      }
      request.result = { transaction, close: () => undefined }
      return typeof request.onsuccess === "function" && request.onsuccess()
    })
    return request as unknown as IDBOpenDBRequest
  }
  return { open }
}

let kept: Map<string, unknown>
beforeEach(() => {
  kept = new Map()
  vi.stubGlobal("isSecureContext", true)
})
afterEach(() => {
  vi.unstubAllGlobals()
})
const boxIn = (flaw: Flaw) => {
  vi.stubGlobal("indexedDB", indexedDbThat(flaw, kept))
  return createWebSecretBox()
}

test("a browser that stores keys seals and opens, also with a held scope", async () => {
  const box = boxIn("none")
  await box.createKey(scope)
  const sealed = await box.seal(scope, "row", bytes)
  expect(await boxIn("none").open(scope, "row", sealed)).toEqual(bytes)
  const held = boxIn("none").hold?.(scope)
  expect(await held?.open("row", (await held?.seal("row", bytes)) ?? bytes)).toEqual(bytes)
})

test.each<[Flaw, string]>([
  ["refuses to open", "SECURE_STORE_UNAVAILABLE"],
  ["cannot clone keys", "SECURE_STORE_UNAVAILABLE"],
  ["has no room", "SECURE_STORE_UNAVAILABLE"],
  ["loses keys", "SECURE_STORE_UNAVAILABLE"],
  ["loses keys later", "SECURE_STORE_UNAVAILABLE"],
  ["keeps an empty entry", "SECURE_STORE_UNAVAILABLE"],
  ["gives raw keys back", "SECURE_STORE_UNAVAILABLE"],
])("a browser whose IndexedDB %s is refused, seals nothing, and stores no partial key", async (flaw, reason) => {
  const box = boxIn(flaw)
  const refused = { name: "SecretBoxError", reason }
  await expect(box.createKey(scope)).rejects.toMatchObject(refused)
  // Repeatedly: the stored remains do not count as a key.
  await expect(box.createKey(scope)).rejects.toMatchObject(refused)
  await expect(box.seal(scope, "row", bytes)).rejects.toMatchObject({ name: "SecretBoxError" })
  await expect(box.hold?.(scope).seal("row", bytes)).rejects.toMatchObject({ name: "SecretBoxError" })
  expect([...kept]).toEqual([])
  // Once it stores keys, for example after an update, the box works.
  await boxIn("none").createKey(scope)
  expect(await boxIn("none").seal(scope, "row", bytes)).toBeInstanceOf(Uint8Array)
})

test.each<Flaw>(["loses keys", "loses keys later, once", "keeps an empty entry", "gives raw keys back", "has no room"])(
  "a rotation where IndexedDB %s keeps the earlier key",
  async (flaw) => {
    await boxIn("none").createKey(scope)
    const sealed = await boxIn("none").seal(scope, "row", bytes)
    const refused = { name: "SecretBoxError", reason: "SECURE_STORE_UNAVAILABLE" }
    await expect(boxIn(flaw).rotate(scope)).rejects.toMatchObject(refused)
    expect(await boxIn("none").open(scope, "row", sealed)).toEqual(bytes)
  },
)

test("a browser without IndexedDB is refused", async () => {
  vi.stubGlobal("indexedDB", undefined)
  await expect(createWebSecretBox().createKey(scope)).rejects.toMatchObject({ reason: "SECURE_STORE_UNAVAILABLE" })
})

test("a browser that lost its keys opens nothing with new ones", async () => {
  await boxIn("none").createKey(scope)
  const sealed = await boxIn("none").seal(scope, "row", bytes)
  const [[name = "", value] = []] = [...kept]
  kept.set(name, Object.assign({}, value, { keys: [{ id: "x", key: {} }] }))
  const before = structuredClone(kept.get(name))
  const box = boxIn("none")
  await expect(box.createKey(scope)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
  await expect(box.open(scope, "row", sealed)).rejects.toMatchObject({ reason: "SECURE_STORE_CHANGED" })
  expect(kept.get(name)).toEqual(before)
})

test("a stored key that scripts can extract is refused and left as it is", async () => {
  const raw = crypto.getRandomValues(new Uint8Array(32))
  const random = vi.spyOn(crypto, "getRandomValues").mockImplementationOnce((into) => {
    new Uint8Array(into?.buffer ?? expect.fail("no buffer")).set(raw)
    return into
  })
  await boxIn("none").createKey(scope)
  random.mockRestore()
  const [[name = "", value] = []] = [...kept]
  const { keys, canary } = value as { keys: { id: string; key: CryptoKey }[]; canary: Uint8Array }
  const [{ id, key } = expect.fail("no key")] = keys
  const sealed = await boxIn("none").seal(scope, "row", bytes)
  const usages = key.usages
  const planted = await crypto.subtle.importKey("raw", raw, key.algorithm.name, true, usages)
  const put = { keys: [{ id, key: planted }], canary }
  kept.set(name, put)
  const box = boxIn("none")
  const refused = { name: "SecretBoxError", reason: "SECURE_STORE_CHANGED" }
  await expect(box.createKey(scope)).rejects.toMatchObject(refused)
  await expect(box.seal(scope, "row", bytes)).rejects.toMatchObject(refused)
  await expect(box.open(scope, "row", sealed)).rejects.toMatchObject(refused)
  await expect(box.rotate(scope)).rejects.toMatchObject(refused)
  await expect(box.hold?.(scope).seal("row", bytes)).rejects.toMatchObject(refused)
  expect([...kept]).toEqual([[name, put]])
  expect(kept.get(name)).toBe(put)
})

test("a page outside of a secure context is refused before anything else", async () => {
  vi.stubGlobal("isSecureContext", false)
  await expect(boxIn("none").createKey(scope)).rejects.toMatchObject({ reason: "INSECURE_CONTEXT" })
  expect([...kept]).toEqual([])
})
