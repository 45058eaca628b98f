// IndexedDB fails, or the page goes away, at every request of a story, in Chromium: a transaction is whole, and goes on.
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Op } from "../../clients/core/messaging/store/store.ts"
import { chromiumMissing, launchChromium, servePage } from "../support/chromium.ts"
import { effort } from "../support/effort.ts"

const title = `faults in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

declare global {
  interface Window {
    /** Requests so far, and what happens at one of them. */
    fault: { count: number; at: number; kind: string }
    /** Mode and durability of every transaction. */
    begun: [string, string][]
  }
}

const a = "cnv_a"
const put = (key: string, value: number): Op => ({ op: "put", table: "state", key, value: Uint8Array.of(value) })
const transactions: Op[][] = [
  [put("x", 1), put("y", 1)],
  [put("x", 2), { op: "remove", table: "state", key: "y" }],
  [put("x", 3), { op: "create", table: "usedKeyPackage", key: "k", value: Uint8Array.of(1), space: "device" }],
  [put("x", 4), put("z", 4)],
]
/** What is there after so many. */
const after = [[], [1, 1], [2], [3], [4, 4]]

/** Sees every request for a change of the page's stores. */
function watchRequests(): void {
  window.fault = { count: 0, at: -1, kind: "" }
  window.begun = []
  const { transaction } = IDBDatabase.prototype
  IDBDatabase.prototype.transaction = function (this: IDBDatabase, ...given) {
    const made = transaction.apply(this, given)
    window.begun.push([made.mode, made.durability])
    return made
  }
  for (const name of ["put", "add", "delete"] as const) {
    const original: (...given: never[]) => unknown = IDBObjectStore.prototype[name]
    IDBObjectStore.prototype[name] = function (this: IDBObjectStore, ...given: never[]) {
      const { fault } = window
      if (fault.count++ !== fault.at) return original.apply(this, given) as never
      if (fault.kind === "throws") throw new DOMException("the disk does not answer", "UnknownError")
      const request = original.apply(this, given)
      if (fault.kind === "aborts") this.transaction.abort()
      else location.reload()
      return request as never
    }
  }
}

describe.skipIf(chromiumMissing !== undefined)(title, () => {
  let served: Awaited<ReturnType<typeof servePage>>
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    served = await servePage(join(import.meta.dirname, "browser/store-page.ts"))
    browser = await launchChromium()
    page = await (await browser.newContext()).newPage()
    await page.addInitScript(watchRequests)
    await page.goto(served.origin)
  })
  afterAll(async () => {
    await browser?.close()
    served?.close()
  })

  const open = async (database: string) => (await page.evaluate((name) => window.stores.open(name), database)).id
  const transact = (id: number, generation: number) =>
    page.evaluate((given) => window.stores.transact(...given), [
      ...([id, a, BigInt(generation), transactions[generation] ?? []] as const),
    ] as const)
  const set = (at: number, kind: string) =>
    page.evaluate((fault) => Object.assign(window.fault, fault), { count: 0, at, kind })

  test("every transaction requests strict durability", async () => {
    const id = await open("strict")
    expect(await transact(id, 0)).toBe("ok")
    const begun = await page.evaluate(() => window.begun)
    expect(begun.some(([mode]) => mode === "readwrite")).toBe(true)
    for (const [mode, durability] of begun) if (mode === "readwrite") expect(durability).toBe("strict")
  })

  const kinds = ["throws", "aborts", "reloads"] as const
  test.each(kinds.slice(0, effort(1, 3, 3)))("a request that %s undoes its transaction, or none", async (kind) => {
    await set(-1, "")
    const counting = await open(`counted ${kind}`)
    for (const [generation] of transactions.entries()) expect(await transact(counting, generation)).toBe("ok")
    const { count } = await page.evaluate(() => window.fault)
    expect(count).toBeGreaterThan(10)
    for (let at = 0; at < count; at++) {
      const database = `${kind} at ${at}`
      let id = await open(database)
      await set(at, kind)
      let told = 0
      try {
        for (; told < transactions.length; told++) {
          const done = await transact(id, told)
          if (done !== "ok") break
        }
      } catch {
        // The page is not there any more, or not yet.
      }
      // A page that reloads gets on for a while.
      if (kind !== "reloads") expect(told, database).toBeLessThan(transactions.length)
      if (kind === "reloads") {
        await page.waitForFunction(() => window.fault?.kind === "" && window.stores !== undefined)
        id = await open(database)
      }
      await set(-1, "")
      const { generation } = await page.evaluate((given) => window.stores.read(given, "cnv_a", []), id)
      expect([told, told + 1], database).toContain(Number(generation))
      const listed = () => page.evaluate((given) => window.stores.list(given, "cnv_a", "state"), id)
      const values = (await listed()).map(({ value }) => value[0])
      expect(values, database).toEqual(after[Number(generation)])
      for (let next = Number(generation); next < transactions.length; next++) {
        expect(await transact(id, next), database).toBe("ok")
      }
      expect((await listed()).map(({ value }) => value[0])).toEqual(after.at(-1))
    }
  })
})
