// The store in IndexedDB, in Chromium: the suite of every store, and what only a browser does.
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { storeSuite } from "../../clients/core/messaging/testing/store-suite.ts"
import { chromiumMissing, launchChromium, servePage } from "../support/chromium.ts"
import { isLong } from "../support/effort.ts"

const title = `in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`

describe.skipIf(chromiumMissing !== undefined)(title, () => {
  let served: Awaited<ReturnType<typeof servePage>>
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    served = await servePage(join(import.meta.dirname, "browser/store-page.ts"))
    browser = await launchChromium()
    page = await (await browser.newContext()).newPage()
    await page.goto(served.origin)
  })
  afterAll(async () => {
    await browser?.close()
    served?.close()
  })

  /** A store in the page, as if it were here. */
  async function openIn(tab: Page, database: string): Promise<MessagingStore & { readonly id: number }> {
    const { id, durability } = await tab.evaluate((name) => window.stores.open(name), database)
    let isClosed = false
    return {
      id,
      durability,
      read: (space, wanted) => tab.evaluate((given) => window.stores.read(...given), [id, space, wanted] as const),
      list: (space, table, range) =>
        tab.evaluate((given) => window.stores.list(...given), [id, space, table, range] as const),
      spaces: () => tab.evaluate((given) => window.stores.spaces(given), id),
      async transact(space, generation, ops) {
        const given = [id, space, generation, ops] as const
        const done = await tab.evaluate((args) => window.stores.transact(...args), given)
        if (done === "ok" || done === "EXISTS" || done === "GENERATION_MISMATCH") return done
        throw new Error(done)
      },
      async close() {
        if (isClosed) return
        isClosed = true
        await tab.evaluate((given) => window.stores.close(given), id)
      },
    }
  }
  let databases = 0
  const newName = () => `store ${databases++}`
  const row = (value: number, length = 1) =>
    ({ op: "put", table: "state", key: "x", value: new Uint8Array(length).fill(value) }) as const

  storeSuite("the store in IndexedDB", async () => {
    const database = newName()
    return {
      open: () => openIn(page, database),
      isKept: true,
      remove: () => page.evaluate((name) => window.stores.remove(name), database),
    }
  })

  test.runIf(isLong)("two tabs have one generation, and detect each other's writes", async () => {
    const database = newName()
    const other = await page.context().newPage()
    await other.goto(served.origin)
    const [here, there] = [await openIn(page, database), await openIn(other, database)]
    const results = await Promise.all([here.transact("a", 0n, [row(1)]), there.transact("a", 0n, [row(2)])])
    expect(results.sort()).toEqual(["GENERATION_MISMATCH", "ok"])
    expect(await there.transact("a", 1n, [row(3)])).toBe("ok")
    expect((await here.read("a", [{ table: "state", key: "x" }])).values).toEqual([Uint8Array.of(3)])
    await expect.poll(() => page.evaluate((id) => window.stores.heard(id), here.id)).toContain("a")
    await other.close()
    await here.close()
  })

  test("a database of a later version is refused and unchanged", async () => {
    const database = newName()
    await page.evaluate((name) => window.stores.upgrade(name), database)
    await expect(openIn(page, database)).rejects.toThrow(/STATE_NEWER_VERSION/)
  })

  test("a store that another tab has deleted is closed, and not a new one", async () => {
    const database = newName()
    const store = await openIn(page, database)
    await store.transact("a", 0n, [row(1)])
    await page.evaluate((name) => window.stores.remove(name), database)
    await expect(store.read("a", [])).rejects.toThrow(/CLOSED/)
    await expect(store.transact("a", 1n, [row(2)])).rejects.toThrow(/CLOSED/)
  })

  test.runIf(isLong)("a store whose browser has cleared its site data is closed, and not a new one", async () => {
    const tab = await elsewhere()
    const store = await openIn(tab, newName())
    await store.transact("a", 0n, [row(1)])
    const control = await tab.context().newCDPSession(tab)
    await control.send("Storage.clearDataForOrigin", { origin: served.origin, storageTypes: "indexeddb" })
    await expect(store.transact("a", 1n, [row(2)])).rejects.toThrow(/CLOSED/)
    await expect(store.read("a", [])).rejects.toThrow(/CLOSED/)
  })

  test("of a view, only its own bytes are stored", async () => {
    const store = await openIn(page, newName())
    expect(await page.evaluate((id) => window.stores.keptOfView(id), store.id)).toBe(10)
    await store.close()
  })

  /** Somebody else's browser, as far as storage goes. */
  async function elsewhere(): Promise<Page> {
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    const tab = await context.newPage()
    await tab.goto(served.origin)
    return tab
  }

  test.runIf(isLong)("a write beyond the quota is refused with a typed error, and nothing has changed", async () => {
    const tab = await elsewhere()
    const control = await tab.context().newCDPSession(tab)
    await control.send("Storage.overrideQuotaForOrigin", { origin: served.origin, quotaSize: 100_000 })
    const store = await openIn(tab, newName())
    await store.transact("a", 0n, [row(1)])
    await expect(store.transact("a", 1n, [row(2, 1_000_000)])).rejects.toThrow(/STORE_FULL/)
    const wanted = [{ table: "state", key: "x" }] as const
    expect(await store.read("a", wanted)).toEqual({ generation: 1n, values: [Uint8Array.of(1)] })
    expect(await store.transact("a", 1n, [row(3)])).toBe("ok")
  })

  test.runIf(isLong)("reports whether the browser may evict the store", async () => {
    const tab = await elsewhere()
    expect((await openIn(tab, newName())).durability).toBe("best-effort")
    const { targetInfo } = await (await tab.context().newCDPSession(tab)).send("Target.getTargetInfo")
    const { browserContextId } = targetInfo
    await (await browser.newBrowserCDPSession()).send("Browser.grantPermissions", {
      permissions: ["durableStorage"],
      origin: served.origin,
      ...(browserContextId !== undefined && { browserContextId }),
    })
    expect((await openIn(tab, newName())).durability).toBe("persistent")
  })
})
