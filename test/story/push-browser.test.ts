// A service worker in Chromium gets a push and peeks, beside the app's tab.
//
// Simulated: the push service. No subscription exists, and the DevTools protocol delivers the push to the worker. Real: the
// push event, the worker, its database and keys, which it shares with the tab, and the calls to the service.
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { buildWorker } from "../../scripts/console/messenger-worker.ts"
import { chromiumMissing, launchChromium, serveModulePage } from "../support/chromium.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, textsIn } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

const title = `a push in Chromium${chromiumMissing ? ` (skipped: ${chromiumMissing})` : ""}`
const pages = join(import.meta.dirname, "../interop/browser")
const utf8 = (text: string) => new TextEncoder().encode(text)

describe.skipIf(chromiumMissing !== undefined)(title, () => {
  let app: Awaited<ReturnType<typeof serveModulePage>>
  let server: Deployment
  let messengers: Messengers
  let browser: Browser
  beforeAll(async () => {
    const serviceWorker = join(pages, "push-worker.ts")
    app = await serveModulePage(join(pages, "messenger-page.ts"), await buildWorker(), { serviceWorker })
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

  /** A tab of a new user, and pushes to its service worker. */
  async function newTab(subject: string, isFollowing: boolean) {
    const context = await browser.newContext()
    onTestFinished(() => context.close())
    const tab = await context.newPage()
    await tab.goto(app.origin)
    const { credential } = await server.login(subject)
    const settings = {
      ...{ appId: server.app.id, authUrl: server.url, messagingUrl: server.messagingUrl, audience: server.audience },
      issuerRootKey: server.issuerRootKey,
      idToken: credential?.case === "idToken" ? credential.value : "",
      isFollowing,
    }
    expect(await tab.evaluate((given) => window.messenger.open(given), settings)).toMatch(/^dev_/)
    return { tab, push: await pushesTo(tab) }
  }

  async function pushesTo(tab: Page): Promise<() => Promise<void>> {
    const devtools = await tab.context().newCDPSession(tab)
    const { promise: registered, resolve } = Promise.withResolvers<string>()
    devtools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      for (const { registrationId, isDeleted } of registrations) if (!isDeleted) resolve(registrationId)
    })
    await devtools.send("ServiceWorker.enable")
    await tab.evaluate(() => window.messenger.registerWorker())
    const registrationId = await registered
    return async () => {
      await devtools.send("ServiceWorker.deliverPushMessage", { origin: app.origin, registrationId, data: "" })
    }
  }

  const peekedIn = (tab: Page) => tab.evaluate(() => window.messenger.peeked())
  /** Pushes again while the result is "newMessages": a loaded machine may need more than the 2 seconds of a peek. */
  async function shownBy(push: () => Promise<void>, tab: Page): Promise<string[] | string | undefined> {
    for (let attempt = 1; ; attempt++) {
      const before = (await peekedIn(tab)).length
      await push()
      await expect.poll(() => peekedIn(tab)).toHaveLength(before + 1)
      const shown = (await peekedIn(tab)).at(-1)
      if (shown !== "newMessages" || attempt === 10) return shown
    }
  }
  const storedIn = (tab: Page) => tab.evaluate(() => window.messenger.kept())

  test.runIf(isLong)(
    "a push shows the unread messages and changes no stored row, and the tab then receives each once",
    async () => {
      const ben = await messengers.newcomer("ben who pushes")
      const { tab, push } = await newTab("ann with a worker", false)
      const id = await tab.evaluate((userIds) => window.messenger.createGroup(userIds), [ben.person.userId])
      await ben.messenger.sync()
      for (const text of ["one", "two"]) await ben.messenger.send(id, utf8(text))
      const before = await storedIn(tab)
      for (let round = 0; round < 2; round++) expect(await shownBy(push, tab)).toEqual(["one", "two"])
      expect(await storedIn(tab)).toBe(before)
      await tab.evaluate(() => window.messenger.sync())
      const texts = (given: string) => window.messenger.texts(given)
      expect(await tab.evaluate(texts, id)).toEqual(["one", "two"])
      expect(await storedIn(tab)).not.toBe(before)
      // The same keys: what the tab sends next can be read.
      await tab.evaluate((given) => window.messenger.send(given, ["three"]), id)
      await ben.messenger.sync()
      expect(await textsIn(ben, id)).toEqual(["one", "two", "three"])
    },
  )

  test.runIf(isLong)("pushes while the tab receives and sends neither lose nor duplicate a message", async () => {
    const ben = await messengers.newcomer("ben who pushes a lot")
    const { tab, push } = await newTab("ann with a busy worker", true)
    const id = await tab.evaluate((userIds) => window.messenger.createGroup(userIds), [ben.person.userId])
    await ben.messenger.sync()
    const rounds = [0, 1, 2, 3, 4]
    for (const round of rounds) {
      await Promise.all([
        ben.messenger.send(id, utf8(`ben ${round}`)),
        tab.evaluate(([to, text]) => window.messenger.send(to, [text]), [id, `ann ${round}`] as const),
        push(),
      ])
    }
    await expect.poll(() => peekedIn(tab)).toHaveLength(rounds.length)
    const all = [...rounds.map((round) => `ann ${round}`), ...rounds.map((round) => `ben ${round}`)]
    const texts = (given: string) => window.messenger.texts(given)
    await expect.poll(async () => (await tab.evaluate(texts, id)).toSorted()).toEqual(all)
    await ben.messenger.sync()
    expect((await textsIn(ben, id)).toSorted()).toEqual(all)
  })
})
