// The messenger in Chromium on the real server: in one group with Node, in two tabs, and through reloads.
import { join } from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest"
import { buildWorker } from "../../scripts/console/messenger-worker.ts"
import type { MessengerSettings } from "../interop/browser/messenger-page.ts"
import { chromiumMissing, launchChromium, serveModulePage } from "../support/chromium.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort, isLong, isNightly } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

const title = `the messenger in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const utf8 = (text: string) => new TextEncoder().encode(text)
/** Where the page's core runs: on the page itself, or as WASM in its Worker, which takes twice as long. */
const cores = ["direct", "wasm"] as const
/** One of both in .ci/run. */
const coresOf = (chosen: "direct" | "wasm") => (isNightly ? cores : [chosen])
const isAtEdge = process.env.SIGNET_MESSAGING === "edge"

describe.skipIf(chromiumMissing !== undefined)(title, () => {
  let app: Awaited<ReturnType<typeof serveModulePage>>
  let server: Deployment
  let messengers: Messengers
  let browser: Browser
  /** Of the tabs of a test. */
  let core: "direct" | "wasm"
  beforeEach(() => {
    core = "direct"
  })
  beforeAll(async () => {
    const worker = isLong ? await buildWorker() : new Map()
    app = await serveModulePage(join(import.meta.dirname, "../interop/browser/messenger-page.ts"), worker)
    server = await startDeployment({ store: storyStore, settings: { allowedOrigins: [app.origin] } })
    messengers = messengersOn(server)
    browser = await launchChromium()
  })
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
    ...{ issuerRootKey: server.issuerRootKey, core },
  })
  const idTokenOf = async (subject: string) => {
    const { credential } = await server.login(subject)
    return credential?.case === "idToken" ? credential.value : ""
  }
  const openIn = (tab: Page, change: Partial<MessengerSettings> = {}) =>
    tab.evaluate((given) => window.messenger.open(given), { ...settings(), ...change })
  async function newTab(context: BrowserContext, change?: Partial<MessengerSettings>): Promise<Page> {
    const tab = await context.newPage()
    await tab.goto(app.origin)
    expect(await openIn(tab, change)).toMatch(/^dev_/)
    return tab
  }
  const devicesOf = (...tabs: Page[]) => Promise.all(tabs.map((tab) => tab.evaluate(() => window.messenger.deviceId())))
  const send = (tab: Page, id: string, ...texts: string[]) =>
    tab.evaluate((given) => window.messenger.send(...given), [id, texts] as const)
  const textsIn = (tab: Page, id: string) => tab.evaluate((given) => window.messenger.texts(given), id)
  const heardIn = (tab: Page, id: string) => tab.evaluate((given) => window.messenger.heard(given), id)
  const syncIn = (tab: Page) => tab.evaluate(() => window.messenger.sync())
  const group = (tab: Page, ...others: OpenedMessenger[]) =>
    tab.evaluate(
      (userIds) => window.messenger.createGroup(userIds),
      others.map(({ person }) => person.userId),
    )
  /** The messages, and markers for those that could not be decrypted. */
  const textsOf = async ({ messenger }: OpenedMessenger, id: string) =>
    (await messenger.timeline(id, { limit: 1_000 })).flatMap((entry) => {
      if (entry.is === "message") return [new TextDecoder().decode(entry.plaintext)]
      return entry.is === "unreadable" ? [entry.reason] : []
    })

  test.runIf(isLong)("a page and a device in Node write to each other in one group, also after a reload", async () => {
    const ben = await messengers.newcomer("ben in Node")
    const tab = await newTab(await newBrowser(), { idToken: await idTokenOf("ann in Chromium") })
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

    const kept = await tab.evaluate(() => window.messenger.kept())
    expect(kept).toContain(server.app.id)
    expect(kept).not.toMatch(/from the page|from Node|after a reload|eyJ[\w-]+\.eyJ/)
    expect(await tab.evaluate(() => window.messenger.stealKeys())).toEqual(Array(2).fill("InvalidAccessError"))
  })

  test.runIf(isLong).each(coresOf("direct"))(
    "%s: a page writes a backup, and a page of another browser restores it",
    async (given) => {
      core = given
      const ben = await messengers.newcomer(`ben in a backup, ${core}`)
      const tab = await newTab(await newBrowser(), { idToken: await idTokenOf(`ann with a backup, ${core}`) })
      const id = await group(tab, ben)
      await ben.messenger.sync()
      await ben.messenger.send(id, utf8("to be kept"))
      await syncIn(tab)
      for (const passphrase of [undefined, "correct horse"]) {
        const { secret, file } = await tab.evaluate((given) => window.messenger.backUp(given), passphrase)
        const other = await newTab(await newBrowser(), {
          idToken: await idTokenOf(`ann with a backup, ${core}`),
          isIdle: true,
        })
        const restore = (bytes: number[]) =>
          other.evaluate((given) => window.messenger.restore(...given), [bytes, secret] as const)
        expect(await restore(file.slice(0, -1))).toBe("BACKUP_INCOMPLETE")
        expect(await restore(file)).toBe(0)
        expect(await textsIn(other, id)).toEqual(["to be kept"])
      }
    },
  )

  test.runIf(isLong).each(coresOf("direct"))(
    "%s: a page transfers the history to a page of another browser, and both continue after a reload",
    async (given) => {
      core = given
      const ben = await messengers.newcomer(`ben of two browsers, ${core}`)
      const signIn = async () => ({ idToken: await idTokenOf(`ann with two browsers, ${core}`) })
      const old = await newTab(await newBrowser(), await signIn())
      const id = await group(old, ben)
      await ben.messenger.sync()
      for (const text of ["one", "two"]) await ben.messenger.send(id, utf8(text))
      await syncIn(old)
      const next = await newTab(await newBrowser(), await signIn())
      const qr = await next.evaluate(() => window.messenger.requestHistory())
      await old.evaluate((given) => window.messenger.grantHistory(given), qr)
      for (const tab of [old, next]) {
        await tab.reload()
        expect(await openIn(tab)).toMatch(/^dev_/)
      }
      await Promise.all([old, next].map((tab) => tab.evaluate(() => window.messenger.runHistory())))
      expect(await textsIn(next, id)).toEqual(["one", "two"])
      await syncIn(old)
      await syncIn(next)
      await ben.messenger.sync()
      await ben.messenger.send(id, utf8("to both"))
      await syncIn(next)
      expect(await textsIn(next, id)).toEqual(["one", "two", "to both"])
    },
  )

  test.runIf(isLong).each(coresOf("wasm"))(
    "%s: a user who has lost a browser restores the backup at the service in another one, and is admitted",
    async (given) => {
      core = given
      const ben = await messengers.newcomer(`ben who stays, ${core}`)
      const following = new AbortController()
      const run = ben.messenger.run(following.signal).catch(() => undefined)
      onTestFinished(async () => {
        following.abort()
        await run
      })
      const signIn = async () => ({ idToken: await idTokenOf(`ann who loses a browser, ${core}`) })
      const lost = await newBrowser()
      const tab = await newTab(lost, await signIn())
      const id = await group(tab, ben)
      await expect.poll(async () => (await ben.messenger.conversation(id))?.status).toBe("active")
      await ben.messenger.send(id, utf8("to be kept"))
      await syncIn(tab)
      const recoveryKey = await tab.evaluate(() => window.messenger.storeBackup())
      await lost.close()

      const other = await newTab(await newBrowser(), { ...(await signIn()), isFollowing: true })
      expect(await other.evaluate((given) => window.messenger.restoreStored(given), recoveryKey)).toBeGreaterThan(0)
      expect(await textsIn(other, id)).toEqual(["to be kept"])
      const isIn = async () => (await ben.messenger.timeline(id)).some(({ is }) => is === "membership")
      await expect.poll(isIn, { timeout: 60_000 }).toBe(true)
      await ben.messenger.send(id, utf8("welcome back"))
      await expect.poll(() => textsIn(other, id), { timeout: 60_000 }).toEqual(["to be kept", "welcome back"])
    },
  )

  test.runIf(isLong).each(coresOf("wasm"))(
    "%s: two tabs are one device: nothing is sent or reported twice, and both get everything",
    async (given) => {
      core = given
      const ben = await messengers.newcomer(`ben with a friend in two tabs, ${core}`)
      const context = await newBrowser()
      const here = await newTab(context, { idToken: await idTokenOf(`ann in two tabs, ${core}`), isFollowing: true })
      const there = await newTab(context, { isFollowing: true })
      // It does not call the service: it gets its data from the other tab.
      const beside = await newTab(context)
      const id = await group(here, ben)
      await ben.messenger.sync()
      expect(new Set(await devicesOf(here, there, beside)).size).toBe(1)
      const texts = (from: string) => [0, 1, 2, 3].map((i) => `${from} ${i}`)
      const [sentHere, sentThere] = await Promise.all([
        send(here, id, ...texts("here")),
        send(there, id, ...texts("there")),
        (async () => {
          for (const text of texts("ben")) await ben.messenger.send(id, utf8(text))
        })(),
      ])
      expect([sentHere, sentThere]).toEqual([4, 4])
      await ben.messenger.sync()
      const all = [...texts("ben"), ...texts("here"), ...texts("there")]
      const log = await textsOf(ben, id)
      expect([...log].sort()).toEqual(all)
      for (const tab of [here, there, beside]) {
        await expect.poll(() => heardIn(tab, id)).toHaveLength(all.length)
        expect(await heardIn(tab, id)).toEqual(log)
        expect(await textsIn(tab, id)).toEqual(log)
      }
    },
  )

  test.skipIf(effort(!isAtEdge, false, false))(
    "a page over gRPC-Web sends, follows and applies the commits of others",
    async () => {
      const ben = await messengers.newcomer("ben of a page with gRPC-Web")
      const context = await newBrowser()
      const calls: { method: string; type: string | undefined }[] = []
      context.on("request", (request) => {
        const method = request.url().match(/\/signet\.messaging\.v1\.\w+\/(\w+)$/)?.[1]
        if (method === undefined || request.method() !== "POST") return
        calls.push({ method, type: request.headers()["content-type"] })
      })
      const idToken = await idTokenOf("ann with gRPC-Web")
      const tab = await newTab(context, { idToken, wire: "grpc-web", isFollowing: true })
      const id = await group(tab, ben)
      await ben.messenger.sync()
      const texts = (from: string) => [0, 1, 2, 3].map((i) => `${from} ${i}`)
      const [sent] = await Promise.all([
        send(tab, id, ...texts("ann")),
        // An epoch that ends in between is reported with a typed detail, in trailers.
        (async () => {
          for (const text of texts("ben")) {
            await ben.messenger.send(id, utf8(text))
            await ben.messenger.refreshKeys(id)
          }
        })(),
      ])
      expect(sent).toBe(4)
      await ben.messenger.sync()
      const log = await textsOf(ben, id)
      expect([...log].sort()).toEqual([...texts("ann"), ...texts("ben")])
      await expect.poll(() => heardIn(tab, id)).toEqual(log)
      expect(calls.map(({ method }) => method)).toEqual(expect.arrayContaining(["Subscribe", "AppendMessage"]))
      expect(new Set(calls.map(({ type }) => type))).toEqual(new Set(["application/grpc-web+proto"]))
    },
  )

  const moments: ["direct" | "wasm", string, boolean][] = coresOf("wasm").flatMap((each) => [
    [each, "reached the service", true],
    [each, "left the page", false],
  ])
  test.runIf(isLong).each(moments)(
    "%s: a page that is reloaded during a send, before it knows whether the message %s, sends once",
    async (given, _, isTaken) => {
      core = given
      const ben = await messengers.newcomer(`ben of a reload ${given} ${isTaken}`)
      const context = await newBrowser()
      const tab = await newTab(context, { idToken: await idTokenOf(`ann reloads ${given} ${isTaken}`) })
      const id = await group(tab, ben)
      let isLost = false
      const lost = new Promise<void>((resolve) => {
        void context.route("**/*.ConversationService/AppendMessage", async (route) => {
          if (isLost || route.request().method() !== "POST") return route.continue()
          isLost = true
          if (isTaken) await route.fetch()
          resolve()
        })
      })
      const sending = send(tab, id, "sent once").catch(() => undefined)
      await lost
      await tab.reload()
      await sending
      expect(await openIn(tab)).toMatch(/^dev_/)
      await send(tab, id, "and on")
      await ben.messenger.sync()
      expect(await textsOf(ben, id)).toEqual(["sent once", "and on"])
      expect(await textsIn(tab, id)).toEqual(["sent once", "and on"])
    },
  )

  test.runIf(isLong)("a page outside a secure context has no messenger, and stores nothing", async () => {
    const context = await newBrowser()
    const script = await (await fetch(`${app.origin}/page.js`)).text()
    await context.route("http://insecure.example/**", (route) =>
      route.fulfill(
        route.request().url().endsWith(".js")
          ? { contentType: "text/javascript", body: script }
          : { contentType: "text/html", body: '<!doctype html><script type="module" src="/page.js"></script>' },
      ),
    )
    const tab = await context.newPage()
    await tab.goto("http://insecure.example/")
    expect(await openIn(tab)).toBe("INSECURE_CONTEXT")
    expect(await tab.evaluate(() => window.messenger.databases())).toEqual([])
  })

  test.runIf(isLong)("another user's store, and one without its keys, are refused and unchanged", async () => {
    const context = await newBrowser()
    const database = "messages of whoever is first"
    const tab = await newTab(context, { idToken: await idTokenOf("ann is first"), database })
    const ben = await idTokenOf("ben is second")
    await tab.reload()
    expect(await openIn(tab, { idToken: ben, database })).toBe("WRONG_USER")
    await tab.reload()
    expect(await openIn(tab, { idToken: await idTokenOf("ann is first"), database })).toMatch(/^dev_/)
    await tab.reload()
    await tab.evaluate(() => window.messenger.forgetKeys())
    expect(await openIn(tab, { database })).toBe("SECURE_STORE_CHANGED")
    expect(await tab.evaluate(() => window.messenger.databases())).toContain(database)
  })
})
