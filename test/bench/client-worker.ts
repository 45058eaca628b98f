// The messenger's two cores in Chromium, by turns in one run: in the page, and in a Worker as WebAssembly. The server
// shares the bench's process.
// Sizes: npm run bench -- client-worker --set members=2,200 --set messages=100
import { join } from "node:path"
import type { Page } from "playwright-core"
import { buildWorker } from "../../scripts/console/messenger-worker.ts"
import type { MessengerSettings } from "../interop/browser/messenger-page.ts"
import { chromiumMissing, launchChromium, serveModulePage } from "../support/chromium.ts"
import { newDevice } from "../support/messaging/device.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { inBatches } from "./messaging/cast.ts"
import { startInProcess } from "./servers/in-process.ts"

export interface Row {
  readonly name: string
  readonly core: Core
  readonly ms: number
}

export const sizes = {
  usual: { members: [2, 200], messages: 100 },
  smallest: { members: [2], messages: 2 },
}

const cores = ["direct", "wasm"] as const
type Core = (typeof cores)[number]

interface Tab {
  readonly core: Core
  readonly page: Page
  readonly userId: string
}

interface Setting {
  readonly server: MessagingServer
  readonly messengers: Messengers
  newTab(core: Core): Promise<Tab & { readonly openMs: number }>
}

export async function run({ members, messages }: typeof sizes.usual): Promise<Row[]> {
  if (chromiumMissing !== undefined) throw new Error(chromiumMissing)
  const postgres = await startPostgres({})
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const closing: (() => unknown)[] = [() => postgres.stop()]
  try {
    const entry = join(import.meta.dirname, "../interop/browser/messenger-page.ts")
    const app = await serveModulePage(entry, await buildWorker())
    closing.push(() => app.close())
    const { server, close } = await startInProcess(postgres.url, startMessagingServer, { allowedOrigins: [app.origin] })
    closing.push(close)
    const messengers = messengersOn(server)
    closing.push(() => messengers.close())
    const browser = await launchChromium()
    closing.push(() => browser.close())
    const setting: Setting = {
      ...{ server, messengers },
      async newTab(core) {
        const name = `ann with ${core}`
        const { credential } = await server.login(name)
        const page = await (await browser.newContext()).newPage()
        await page.goto(app.origin)
        const given: MessengerSettings = {
          ...{ appId: server.app.id, authUrl: server.url, messagingUrl: server.messagingUrl, audience: "auth" },
          ...{ issuerRootKey: server.issuerRootKey, core },
          idToken: credential?.case === "idToken" ? credential.value : "",
        }
        const open = (settings: MessengerSettings) => page.evaluate((one) => window.messenger.open(one), settings)
        const device = await open(given)
        if (!device.startsWith("dev_")) throw new Error(device)
        // As a returning user: the device is registered, and its key packages are uploaded.
        await page.reload()
        const { idToken: _, ...signedIn } = given
        const openMs = await timed(() => open({ ...signedIn, isIdle: true }))
        return { core, page, userId: (await server.person(name)).userId, openMs }
      },
    }
    const tabs = await Promise.all(cores.map((core) => setting.newTab(core)))
    const rows = tabs.map(({ core, openMs }): Row => ({ name: "a messenger is opened", core, ms: openMs }))
    for (const size of members) rows.push(...(await inGroupOf(setting, tabs, size, messages)))
    return rows
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function inGroupOf(setting: Setting, tabs: readonly Tab[], size: number, messages: number): Promise<Row[]> {
  const { server, messengers } = setting
  const others = await inBatches(Math.max(0, size - 2), async (i) => {
    const device = await newDevice(server.transport, await server.person(`${i} of ${size}`))
    await device.register()
    // Both groups add it with the same one.
    await device.upload(1, { isLastResort: true })
    return device.userId
  })
  const rows: Row[] = []
  for (const { core, page, userId } of tabs) {
    const ben = await messengers.newcomer(`ben of ${size} with ${core}`)
    const { id } = await ben.messenger.createGroupConversation([userId, ...others])
    const row = (name: string, ms: number) => rows.push({ name: `${name}, ${size} members`, core, ms })
    row("joined", await timed(() => syncIn(page)))
    const time = (what: "encryptMessage" | "send", count: number) =>
      page.evaluate((given) => window.messenger.timeOf(...given), [what, id, count] as const)
    await time("send", 2)
    row("sent", await time("send", messages))
    row("encrypted and stored", await time("encryptMessage", messages))
    await syncIn(page)
    await ben.messenger.sync()
    for (let i = 0; i < messages; i++) await ben.messenger.send(id, new TextEncoder().encode("as long as most are"))
    row("received, each of a sync", (await timed(() => syncIn(page))) / messages)
  }
  return rows
}

const syncIn = (page: Page) => page.evaluate(() => window.messenger.sync())

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}
