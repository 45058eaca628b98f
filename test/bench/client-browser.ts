// The messenger in Chromium against one in Node, in the same run and the same conversations, on a server on PostgreSQL
// that shares the bench's process. A page is asked from outside, which is part of its times: "a page is asked" says how much.
// Sizes: npm run bench -- client-browser --set messages=1000 --set members=100,500 --set conversations=100 --set trips=100
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openSqliteStore } from "@signet/client-node/messaging"
import type { Page } from "playwright-core"
import type { MessengerSettings } from "../interop/browser/messenger-page.ts"
import { chromiumMissing, launchChromium, servePage } from "../support/chromium.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { startPostgres } from "../support/postgres-server.ts"
import type { TestServerOptions } from "../support/server.ts"
import { byTurns } from "./client/latency.ts"
import { inBatches } from "./messaging/cast.ts"
import { quantiles } from "./messaging/measure.ts"
import { startInProcess } from "./servers/in-process.ts"

export interface Row {
  readonly name: string
  /** Of the messenger's rate in Node. */
  readonly ratio?: number
  readonly ms?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly bytes?: number
}

interface Setting {
  readonly server: MessagingServer
  readonly messengers: Messengers
  /** A page of somebody new, signed in, and their user id. */
  readonly newPage: (name: string) => Promise<{ page: Page; userId: string; settings: MessengerSettings }>
  /** Somebody with bare stubs and one key package. */
  readonly newBare: (name: string) => Promise<TestDevice>
  readonly folder: string
}

/** As many as one commit adds. */
const mostAdded = 200
const text = "as long as most messages are"

export const sizes = {
  usual: { messages: 10_000, members: [100, 500, 1_000], conversations: 1_000, trips: 200 },
  smallest: { messages: 10, members: [4], conversations: 2, trips: 2 },
}

export async function run({ messages, members, conversations, trips }: typeof sizes.usual): Promise<Row[]> {
  if (chromiumMissing !== undefined) throw new Error(chromiumMissing)
  const postgres = await startPostgres({})
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => postgres.stop()]
  try {
    const app = await servePage(join(import.meta.dirname, "../interop/browser/messenger-page.ts"))
    closing.push(() => app.close())
    const settings = { allowedOrigins: [app.origin] }
    const start = (options: TestServerOptions) => startMessagingServer({ ...options, leavesPerConversation: 1_000 })
    const { server, close } = await startInProcess(postgres.url, start, settings)
    closing.push(close)
    const messengers = messengersOn(server)
    closing.push(() => messengers.close())
    const browser = await launchChromium()
    closing.push(() => browser.close())
    const setting: Setting = {
      server,
      messengers,
      folder,
      async newPage(name) {
        const { credential } = await server.login(name)
        const page = await (await browser.newContext()).newPage()
        await page.goto(app.origin)
        const given = {
          ...{ appId: server.app.id, authUrl: server.url, messagingUrl: server.messagingUrl, audience: "auth" },
          ...{ issuerRootKey: server.issuerRootKey, idToken: credential?.case === "idToken" ? credential.value : "" },
          // client-worker measures the other core.
          core: "direct" as const,
        }
        const device = await page.evaluate((settings) => window.messenger.open(settings), given)
        if (!device.startsWith("dev_")) throw new Error(device)
        const { idToken: _, ...settings } = given
        return { page, userId: (await server.person(name)).userId, settings }
      },
      async newBare(name) {
        const device = await newDevice(server.transport, await server.person(name))
        await device.register()
        await device.upload(1, { isLastResort: true })
        return device
      },
    }
    const rows = await sendToReceived(setting, trips)
    rows.push(...(await syncing(setting, messages)))
    for (const size of members) rows.push(...(await joining(setting, size)))
    return [...rows, ...(await coldStart(setting, conversations))]
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

const syncIn = (page: Page) => page.evaluate(() => window.messenger.sync())

/** From a page, and from Node, to the same messenger in Node. */
async function sendToReceived({ messengers, newPage }: Setting, trips: number): Promise<Row[]> {
  const { page } = await newPage("sends from a page")
  const [ann, ben] = [await messengers.newcomer("sends from Node"), await messengers.newcomer("receives")]
  const ofPage = await page.evaluate((ids) => window.messenger.createGroup(ids), [ben.person.userId])
  const { id: ofNode } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ben.messenger.sync()
  const controller = new AbortController()
  let received = () => {}
  ben.messenger.subscribe((event) => {
    if (event.is === "entry" && event.entry.is === "message") received()
  })
  const following = ben.messenger.run(controller.signal).catch(() => {})
  const trip = (send: () => Promise<unknown>) => async () => {
    const arrived = Promise.withResolvers<void>()
    received = arrived.resolve
    await Promise.all([send(), arrived.promise])
  }
  const all = await byTurns(
    [
      trip(() => ann.messenger.send(ofNode, new TextEncoder().encode(text))),
      trip(() => page.evaluate(({ id, words }) => window.messenger.send(id, [words]), { id: ofPage, words: text })),
      () => page.evaluate(() => undefined),
    ],
    trips,
  )
  controller.abort()
  await following
  await page.close()
  const [node, chromium, asked] = all.map(quantiles)
  return [
    { name: "send to received, Node", ratio: 1, ...node },
    { name: "send to received, page", ratio: of(node?.p50Ms, chromium?.p50Ms), ...chromium },
    { name: "a page is asked", ...asked },
  ]
}

/** Both come back to so many messages. What is stored is the page's. */
async function syncing({ messengers, newPage }: Setting, count: number): Promise<Row[]> {
  const { page, userId } = await newPage("comes back in a page")
  const [ann, ben] = [await messengers.newcomer("writes"), await messengers.newcomer("comes back in Node")]
  const { id } = await ann.messenger.createGroupConversation([ben.person.userId, userId])
  await Promise.all([ben.messenger.sync(), syncIn(page)])
  for (let i = 0; i < count; i++) await ann.messenger.send(id, new TextEncoder().encode(text))
  const node = await timed(() => ben.messenger.sync())
  const before = await page.evaluate(() => window.messenger.stored())
  const chromium = await timed(() => syncIn(page))
  const after = await page.evaluate(() => window.messenger.stored())
  const texts = await page.evaluate((given) => window.messenger.texts(given), id)
  if (texts.length !== Math.min(count, 1_000)) throw new Error("not all was taken in")
  await page.close()
  return [
    { name: `${count} messages synced, Node`, ratio: 1, ms: node },
    { name: `${count} messages synced, page`, ratio: node / chromium, ms: chromium },
    { name: "a message in IndexedDB", bytes: (after.rows - before.rows) / count },
    { name: "a message in IndexedDB, as the browser counts", bytes: (after.usage - before.usage) / count },
  ]
}

/** Both are the last of so many. */
async function joining({ messengers, newPage, newBare }: Setting, size: number): Promise<Row[]> {
  const { page, userId } = await newPage(`last of ${size} in a page`)
  const [ann, last] = [
    await messengers.newcomer(`makes a group of ${size}`),
    await messengers.newcomer(`last of ${size} in Node`),
  ]
  const others = await inBatches(size - 3, (i) => newBare(`${i} of ${size}`))
  const userIds = others.map(({ userId }) => userId)
  const { id } = await ann.messenger.createGroupConversation(userIds.slice(0, mostAdded))
  for (let i = mostAdded; i < userIds.length; i += mostAdded) {
    await ann.messenger.addMembers(id, userIds.slice(i, i + mostAdded))
  }
  await ann.messenger.addMembers(id, [last.person.userId, userId])
  const node = await timed(() => last.messenger.sync())
  const chromium = await timed(() => syncIn(page))
  await page.close()
  return [
    { name: `a join of ${size}, Node`, ratio: 1, ms: node },
    { name: `a join of ${size}, page`, ratio: node / chromium, ms: chromium },
  ]
}

/** Both start, and their devices are in so many conversations. */
async function coldStart({ messengers, newPage, newBare, folder }: Setting, count: number): Promise<Row[]> {
  const { page, settings } = await newPage("starts in a page")
  const peer = await newBare("is in all of them")
  const store = () => openSqliteStore(join(folder, "cold.db"))
  const ann = await messengers.newcomer("starts in Node", { store: store() })
  for (let i = 0; i < count; i++) {
    await ann.messenger.createGroupConversation([peer.userId])
    await page.evaluate((ids) => window.messenger.createGroup(ids), [peer.userId])
  }
  await ann.messenger.close()
  await page.reload()
  let { messenger } = ann
  const node = {
    opening: await timed(async () => {
      ;({ messenger } = await messengers.open(ann.person, { ...ann, store: store() }))
    }),
    listing: await timed(async () => ensure((await messenger.conversations()).length === count)),
    syncing: await timed(() => messenger.sync()),
  }
  const idle = { ...settings, isIdle: true }
  const chromium = {
    opening: await timed(async () => {
      const device = await page.evaluate((given) => window.messenger.open(given), idle)
      ensure(device.startsWith("dev_"))
    }),
    listing: await timed(async () => ensure((await page.evaluate(() => window.messenger.list())) === count)),
    syncing: await timed(() => syncIn(page)),
  }
  await page.close()
  const both = (what: keyof typeof node, name: string): Row[] => [
    { name: `${name}, Node`, ratio: 1, ms: node[what] },
    { name: `${name}, page`, ratio: node[what] / chromium[what], ms: chromium[what] },
  ]
  return [
    ...both("opening", "a messenger is opened"),
    ...both("listing", `${count} conversations listed from the store`),
    ...both("syncing", `a first sync, with ${count} conversations`),
  ]
}

function ensure(isSo: boolean): void {
  if (!isSo) throw new Error("not all are there")
}

const of = (one = Number.NaN, other = Number.NaN): number => one / other

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}
