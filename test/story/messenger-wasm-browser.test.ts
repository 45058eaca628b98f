// The messenger in Chromium with its core in a Worker: WebAssembly with a memory of its own.
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { buildWorker } from "../../scripts/console/messenger-worker.ts"
import type { MessengerSettings } from "../interop/browser/messenger-page.ts"
import { chromiumMissing, launchChromium, serveModulePage } from "../support/chromium.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

const missing = isLong ? chromiumMissing : "npm run test:long"
const title = `the core in a Worker of Chromium${missing ? ` (skipped: ${missing})` : ""}`
declare global {
  interface Window {
    /** The last message of a Worker. */
    ended?: { readonly memoryBytes: number; readonly isWiped: boolean }
  }
}

/** Runs in a page before its scripts. */
function watchEnd(): void {
  window.Worker = class extends Worker {
    constructor(...given: ConstructorParameters<typeof Worker>) {
      super(...given)
      this.addEventListener("message", ({ data }) => {
        if (data.is === "ended") window.ended = data
      })
    }
  }
}

const pagePath = join(import.meta.dirname, "../interop/browser/messenger-page.ts")
const utf8 = (text: string) => new TextEncoder().encode(text)

describe.skipIf(missing !== undefined)(title, () => {
  let worker: Awaited<ReturnType<typeof buildWorker>>
  let app: Awaited<ReturnType<typeof serveModulePage>>
  let server: Deployment
  let messengers: Messengers
  let browser: Browser
  beforeAll(async () => {
    worker = await buildWorker()
    app = await serveModulePage(pagePath, worker)
    server = await startDeployment({ store: storyStore, settings: { allowedOrigins: [app.origin] } })
    messengers = messengersOn(server)
    browser = await launchChromium()
  }, 120_000)
  afterAll(async () => {
    await messengers?.close()
    await browser?.close()
    await server?.close()
    app?.close()
  })

  async function newBrowser(): Promise<BrowserContext> {
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    return context
  }
  const settings = (): MessengerSettings => ({
    ...{ appId: server.app.id, authUrl: server.url, messagingUrl: server.messagingUrl, audience: server.audience },
    issuerRootKey: server.issuerRootKey,
  })
  const idTokenOf = async (subject: string) => {
    const { credential } = await server.login(subject)
    return credential?.case === "idToken" ? credential.value : ""
  }
  const openIn = (tab: Page, change: Partial<MessengerSettings> = {}) =>
    tab.evaluate((given) => window.messenger.open(given), { ...settings(), ...change })
  async function newTab(context: BrowserContext, change?: Partial<MessengerSettings>): Promise<Page> {
    const tab = await context.newPage()
    tab.on("pageerror", (error) => console.log(error))
    await tab.addInitScript(watchEnd)
    await tab.goto(app.origin)
    expect(await openIn(tab, change)).toMatch(/^dev_/)
    return tab
  }
  const send = (tab: Page, id: string, ...texts: string[]) =>
    tab.evaluate((given) => window.messenger.send(...given), [id, texts] as const)
  const textsIn = (tab: Page, id: string) => tab.evaluate((given) => window.messenger.texts(given), id)
  const syncIn = (tab: Page) => tab.evaluate(() => window.messenger.sync())
  const group = (tab: Page, ...others: OpenedMessenger[]) =>
    tab.evaluate(
      (userIds) => window.messenger.createGroup(userIds),
      others.map(({ person }) => person.userId),
    )
  /** A group that a device in Node creates with the users of tabs. */
  async function tabGroup({ messenger }: OpenedMessenger, ...tabs: Page[]): Promise<string> {
    const userIds = await Promise.all(tabs.map((tab) => tab.evaluate(() => window.messenger.userId())))
    return (await messenger.createGroupConversation(userIds)).id
  }
  const textsOf = async ({ messenger }: OpenedMessenger, id: string) =>
    (await messenger.timeline(id, { limit: 1_000 })).flatMap((entry) => {
      if (entry.is === "message") return [new TextDecoder().decode(entry.plaintext)]
      return entry.is === "unreadable" ? [entry.reason] : []
    })

  test("a page and a device in Node write to each other in one group, also after a reload", async () => {
    const ben = await messengers.newcomer("ben in Node")
    const tab = await newTab(await newBrowser(), { idToken: await idTokenOf("ann with a Worker") })
    const id = await group(tab, ben)
    await send(tab, id, "from the page")
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await syncIn(tab)
    await tab.reload()
    await openIn(tab)
    await send(tab, id, "after a reload")
    await ben.messenger.sync()
    const all = ["from the page", "from Node", "after a reload"]
    expect(await textsOf(ben, id)).toEqual(all)
    expect(await textsIn(tab, id)).toEqual(all)
  })
  const policies: [string, (policy: string) => string, RegExp][] = [
    ["WebAssembly", (given) => given.replace(" 'wasm-unsafe-eval'", ""), /script-src .* needs 'wasm-unsafe-eval'/],
    ["Workers", (given) => given.replace("worker-src 'self'", "worker-src 'none'"), /allow its script in worker-src/],
    ["URLs as scripts", (given) => `${given}; require-trusted-types-for 'script'`, /require-trusted-types-for/],
  ]
  test.each(policies)(
    "a page whose policy refuses %s gets a typed error that names the rule, and nothing is stored",
    async (_, change, rule) => {
      const strict = await serveModulePage(pagePath, worker, { change })
      onTestFinished(() => strict.close())
      const tab = await (await newBrowser()).newPage()
      await tab.goto(strict.origin)
      const error = await tab.evaluate((given) => window.messenger.failureOf(given), settings())
      expect(error).toMatch(/^CONFIGURATION_INVALID .*core: "direct" runs in the page$/)
      expect(error).toMatch(rule)
      expect(await tab.evaluate(() => window.messenger.databases())).toEqual([])
    },
  )

  test("a device of an earlier version moves into the Worker, and both cores are this device at once", async () => {
    const ben = await messengers.newcomer("ben of a moving device")
    const context = await newBrowser()
    const former = await newTab(context, { idToken: await idTokenOf("ann moves"), core: "direct", isFormer: true })
    const id = await group(former, ben)
    await send(former, id, "by an earlier version")
    const device = await former.evaluate(() => window.messenger.deviceId())
    await former.close()
    const inWorker = await newTab(context)
    await send(inWorker, id, "in the Worker")
    const inPage = await newTab(context, { core: "direct" })
    await Promise.all([send(inWorker, id, "here"), send(inPage, id, "there")])
    for (const tab of [inWorker, inPage]) expect(await tab.evaluate(() => window.messenger.deviceId())).toBe(device)
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    for (const tab of [inWorker, inPage]) await syncIn(tab)
    const log = await textsOf(ben, id)
    expect([log.slice(0, 2), log.slice(2, 4).sort(), log.slice(4)]).toEqual([
      ...[["by an earlier version", "in the Worker"], ["here", "there"], ["from Node"]],
    ])
    for (const tab of [inWorker, inPage]) expect(await textsIn(tab, id)).toEqual(log)
    expect(await inPage.evaluate(() => window.messenger.stealKeys())).toEqual(Array(2).fill("InvalidAccessError"))
  })

  test("a tab with an earlier version is closed when a newer one opens the store, and is refused later", async () => {
    const context = await newBrowser()
    const former = await context.newPage()
    await former.goto(app.origin)
    // It signs in, and does not open a messenger.
    const change = { idToken: await idTokenOf("ann updates the app"), database: "refused" }
    expect(await openIn(former, change)).toContain("TypeError")
    const user = await former.evaluate(() => window.messenger.userId())
    const name = ["signet-messages", server.app.id, "", user].join(" ")
    const openFormer = (isFrozen: boolean) =>
      former.evaluate((given) => window.messenger.openAsFormerTab(...given), [name, isFrozen] as const)
    await openFormer(true)
    const tab = await context.newPage()
    await tab.goto(app.origin)
    expect(await openIn(tab)).toBe("STORE_UNAVAILABLE")
    await former.reload()
    await openFormer(false)
    await newTab(context)
    expect(await former.evaluate(() => window.messenger.formerTabs())).toEqual(["InvalidStateError", "VersionError"])
    expect(await former.evaluate(() => window.messenger.importFormerKeys())).toEqual([])
  })

  test("a page with a Worker, a page without one and a device in Node are in one group", async () => {
    const ben = await messengers.newcomer("ben with two pages")
    const ann = await newTab(await newBrowser(), { idToken: await idTokenOf("ann in WebAssembly") })
    const cid = await newTab(await newBrowser(), { idToken: await idTokenOf("cid in the page"), core: "direct" })
    const id = await tabGroup(ben, ann, cid)
    await Promise.all([syncIn(ann), syncIn(cid)])
    await send(ann, id, "from the Worker")
    await send(cid, id, "from the page")
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    await Promise.all([syncIn(ann), syncIn(cid)])
    const all = ["from the Worker", "from the page", "from Node"]
    expect(await textsOf(ben, id)).toEqual(all)
    for (const tab of [ann, cid]) expect(await textsIn(tab, id)).toEqual(all)
  })

  test("files are sent through the Worker, and an aborted upload can continue", async () => {
    const ben = await messengers.newcomer("ben gets files")
    const tab = await newTab(await newBrowser(), { idToken: await idTokenOf("ann sends files") })
    const id = await group(tab, ben)
    await ben.messenger.sync()
    const size = 1_500_000
    const { seq, progress } = await tab.evaluate((given) => window.messenger.sendFile(...given), [id, size] as const)
    expect(progress.at(-1)).toBeGreaterThan(size)
    expect(await tab.evaluate((given) => window.messenger.differencesIn(...given), [id, seq] as const)).toEqual([])
    await ben.messenger.sync()
    const attachment = await ben.messenger.openAttachment(id, BigInt(seq))
    expect([attachment.fileName, attachment.size]).toEqual(["notes.bin", size])
    expect(await tab.evaluate((given) => window.messenger.abortFile(...given), [id, 3 * size] as const)).toEqual([
      ...["AbortError", 1],
    ])
  })

  test("safety numbers are equal, and a comparison is stored", async () => {
    const ben = await messengers.newcomer("ben is compared")
    const { userId } = ben.person
    const tab = await newTab(await newBrowser(), { idToken: await idTokenOf("ann compares") })
    const id = await group(tab, ben)
    await ben.messenger.sync()
    const number = await tab.evaluate((given) => window.messenger.safetyNumber(given), userId)
    const own = (await ben.messenger.conversation(id))?.memberUserIds.find((one) => one !== userId) ?? ""
    expect((await ben.messenger.verification.of(own)).safetyNumber).toBe(number)
    const states = await tab.evaluate((given) => window.messenger.compare(...given), [userId, number] as const)
    expect(states).toEqual(["unverified", "COMPARISON_FAILED", "verified"])
  })

  test("a page keeps no secret that scripts read, and a closed messenger wipes its memory of less than 20 MB", async () => {
    const ben = await messengers.newcomer("ben of a closed page")
    const tab = await newTab(await newBrowser(), { idToken: await idTokenOf("ann closes") })
    const id = await group(tab, ben)
    await send(tab, id, "a plaintext")
    const kept = await tab.evaluate(() => window.messenger.kept())
    expect(kept).toContain(server.app.id)
    expect(kept).not.toMatch(/a plaintext|eyJ[\w-]+\.eyJ/)
    expect(await tab.evaluate(() => window.messenger.stealKeys())).toEqual(Array(2).fill("InvalidAccessError"))
    await tab.evaluate(() => window.messenger.close())
    const ended = await tab.evaluate(() => window.ended)
    expect(ended?.isWiped).toBe(true)
    expect(ended?.memoryBytes).toBeGreaterThan(1_000_000)
    expect(ended?.memoryBytes).toBeLessThan(20_000_000)
    expect(await tab.evaluate(() => window.messenger.reasonAfterClose())).toBe("CLOSED")
    await expect.poll(() => tab.workers().length).toBe(0)
  })
})
