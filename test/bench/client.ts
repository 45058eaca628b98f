// The messenger in Node against a server on PostgreSQL, each as a ratio of bare stubs in the same run: the same calls
// without engine, checks and store. The server has a process of its own; both ends of a conversation share this one.
// Sizes: npm run bench -- client --set messages=1000 --set members=100,500 --set conversations=100 --set trips=100
// --set history=1000,4000 --set recoveries=2
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createGrpcTransport } from "@connectrpc/connect-node"
import type { Messenger } from "@signet/client-node/messaging"
import { freePort } from "../support/free-port.ts"
import type { TestDevice } from "../support/messaging/device.ts"
import { developmentWorld, type World } from "../support/messaging/world.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { startProgram } from "../support/program.ts"
import { movingHistory } from "./client/history.ts"
import { bareTrip, byTurns, messengerTrip } from "./client/latency.ts"
import { issuerRoot, newPerson, type Person } from "./client/people.ts"
import { recovering } from "./client/recovering.ts"
import { appender, inBatches, newcomer } from "./messaging/cast.ts"
import { quantiles } from "./messaging/measure.ts"

const durable = { fsync: "on", synchronous_commit: "on", full_page_writes: "on", shared_buffers: "256MB" }
/** As many as one commit adds. */
const mostAdded = 200

export interface Row {
  readonly name: string
  /** Of the bare stubs' rate, or as it says. */
  readonly ratio?: number
  readonly ms?: number
  readonly perSecond?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly bytes?: number
  /** Processor time. */
  readonly cpuMs?: number
  /** Peak memory of a device's process, before and after the work. */
  readonly beforeBytes?: number
  readonly peakBytes?: number
  readonly keptBytes?: number
}

interface Setting {
  readonly world: World
  readonly newPerson: () => Promise<Person>
  /** Somebody with bare stubs, and key packages. */
  readonly newDevice: (keyPackages: number) => Promise<TestDevice>
}

export const sizes = {
  usual: {
    ...{ messages: 10_000, members: [100, 500, 1_000], conversations: 1_000, trips: 200 },
    ...{ history: [25_000, 100_000], recoveries: 30 },
  },
  smallest: { messages: 10, members: [4], conversations: 2, trips: 2, history: [10, 20], recoveries: 1 },
}

export async function run(amounts: typeof sizes.usual): Promise<Row[]> {
  const { messages, members, conversations, trips, history, recoveries } = amounts
  const postgres = await startPostgres(durable)
  if (postgres === undefined) throw new Error("there is no PostgreSQL to measure on")
  const folder = mkdtempSync(join(tmpdir(), "signet-bench-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => postgres.stop()]
  try {
    const program = await startProgram({
      SIGNET_PROFILE: "development",
      SIGNET_LIMITS: "off",
      SIGNET_CONVERSATION_LEAVES: "1000",
      DATABASE_URL: postgres.url,
      SIGNET_DATA: folder,
      PORT: String(await freePort()),
    })
    closing.push(() => program.end("SIGTERM"))
    const world = developmentWorld(program.url)
    const transport = createGrpcTransport({ baseUrl: program.url })
    const rootKey = issuerRoot(folder)
    const setting: Setting = {
      world,
      newPerson: () => newPerson(world, { rootKey, folder }),
      newDevice: (keyPackages) => newcomer(world, transport, keyPackages),
    }
    const rows: Row[] = []
    for (const size of history) rows.push(...(await movingHistory(await setting.newPerson(), size)))
    rows.push(...(await sendToReceived(setting, trips)), ...(await conversationsThatRecover(setting, recoveries)))
    rows.push(...(await syncing(setting, messages)))
    for (const size of members) rows.push(...(await joining(setting, size)))
    return [...rows, ...(await coldStart(setting, conversations))]
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

async function sendToReceived({ newPerson: person, newDevice: device }: Setting, trips: number): Promise<Row[]> {
  const [ann, ben] = await opened([await person(), await person()])
  if (ann === undefined || ben === undefined) throw new Error("nobody is there")
  const benUserId = ben.person.session.userId
  const { id } = await ann.messenger.createDirectConversation(benUserId)
  const [bareAnn, bareBen] = [await device(0), await device(1)]
  const room = await bareAnn.createGroup([bareBen.userId])
  const controller = new AbortController()
  const all = await byTurns(
    [
      await bareTrip(bareAnn, bareBen, room, controller.signal),
      await messengerTrip(ann.messenger, ben.messenger, id, controller.signal),
    ],
    trips,
  )
  controller.abort()
  for (const { messenger } of [ann, ben]) await messenger.close()
  const [bare, ours] = all.map(quantiles)
  return [
    { name: "send to received, bare stubs", ratio: 1, ...bare },
    { name: "send to received", ratio: (bare?.p50Ms ?? Number.NaN) / (ours?.p50Ms ?? Number.NaN), ...ours },
  ]
}

async function conversationsThatRecover({ newPerson: person }: Setting, count: number): Promise<Row[]> {
  const [ann, ben] = await opened([await person(), await person()])
  if (ann === undefined || ben === undefined) throw new Error("nobody is there")
  const { id } = await ann.messenger.createGroupConversation([ben.person.session.userId])
  await ben.messenger.sync()
  const rows = await recovering(ann.messenger, ben.messenger, id, count)
  for (const { messenger } of [ann, ben]) await messenger.close()
  return rows
}

/** Somebody comes back, and so many messages are there. What is stored is theirs. */
async function syncing({ newPerson: person, newDevice: device }: Setting, count: number): Promise<Row[]> {
  const [ann, ben] = await opened([await person(), await person()])
  if (ann === undefined || ben === undefined) throw new Error("nobody is there")
  const bare = await device(1)
  const { id } = await ann.messenger.createGroupConversation([ben.person.session.userId, bare.userId])
  await ben.messenger.sync()
  await ben.messenger.close()
  const { file } = ben.person
  const before = statSync(file).size
  const text = new TextEncoder().encode("as long as most messages are")
  const sending = await timed(async () => {
    for (let i = 0; i < count; i++) await ann.messenger.send(id, text)
  })
  await ann.messenger.close()
  const append = await appender(bare, await bare.createGroup([(await device(1)).userId]))
  const appends = Math.ceil(count / 10)
  const appending = await timed(async () => {
    for (let i = 0; i < appends; i++) await append()
  })

  let wireBytes = 0
  const fetching = await timed(async () => {
    for (let afterSeq = 0n, isBehind = true; isBehind; ) {
      const page = await bare.calls.conversations.listMessages({ conversationId: id, afterSeq, limit: 200 })
      for (const { message } of page.envelopes) wireBytes += message.length
      afterSeq = page.envelopes.at(-1)?.seq ?? afterSeq
      isBehind = page.envelopes.length > 0 && afterSeq < page.headSeq
    }
  })
  const messenger = await ben.person.open()
  const taking = await timed(() => messenger.sync())
  if ((await messenger.conversation(id))?.processedSeq !== BigInt(count + 1)) throw new Error("not all was taken in")
  await messenger.close()
  const stored = (statSync(file).size - before) / count
  return [
    {
      name: `${appends} messages appended, bare stubs`,
      ratio: 1,
      ms: appending,
      perSecond: (appends / appending) * 1_000,
    },
    {
      name: `${count} messages sent, one after the other`,
      ratio: (appending * count) / (sending * appends),
      ms: sending,
      perSecond: (count / sending) * 1_000,
    },
    { name: `${count} messages fetched, bare stubs`, ratio: 1, ms: fetching, perSecond: (count / fetching) * 1_000 },
    { name: `${count} messages synced`, ratio: fetching / taking, ms: taking, perSecond: (count / taking) * 1_000 },
    { name: "a message on the wire", ratio: 1, bytes: wireBytes / count },
    { name: "a message in the store", ratio: stored / (wireBytes / count), bytes: stored },
  ]
}

/** Somebody is the last of so many. */
async function joining({ newPerson: person, newDevice: device }: Setting, size: number): Promise<Row[]> {
  const [ann, last] = await opened([await person(), await person()])
  if (ann === undefined || last === undefined) throw new Error("nobody is there")
  const bare = await device(1)
  const others = await inBatches(size - 3, () => device(1))
  const userIds = others.map(({ userId }) => userId)
  const { id } = await ann.messenger.createGroupConversation(userIds.slice(0, mostAdded))
  for (let i = mostAdded; i < userIds.length; i += mostAdded) {
    await ann.messenger.addMembers(id, userIds.slice(i, i + mostAdded))
  }
  const adding = await timed(() => ann.messenger.addMembers(id, [bare.userId, last.person.session.userId]))
  const fetching = await timed(async () => {
    for (const welcome of await bare.welcomes()) await bare.treeOf(welcome)
  })
  const joined = await timed(() => last.messenger.sync())
  if ((await last.messenger.conversation(id))?.status !== "active") throw new Error("did not join")
  for (const { messenger } of [ann, last]) await messenger.close()
  return [
    { name: `two are added to ${size - 2}`, ms: adding },
    { name: `a welcome and a tree of ${size}, bare stubs`, ratio: 1, ms: fetching },
    { name: `a join of ${size}`, ratio: fetching / joined, ms: joined },
  ]
}

/** A program starts whose device is in so many conversations. */
async function coldStart({ newPerson: person, newDevice: device }: Setting, count: number): Promise<Row[]> {
  const ann = await person()
  const peer = await device(0)
  await peer.upload(1, { isLastResort: true })
  const first = await ann.open()
  for (let i = 0; i < count; i++) await first.createGroupConversation([peer.userId])
  await first.close()
  let messenger: Messenger | undefined
  const opening = await timed(async () => {
    messenger = await ann.open()
  })
  const listing = await timed(async () => {
    if ((await messenger?.conversations())?.length !== count) throw new Error("not all are there")
  })
  const syncs = await timed(() => messenger?.sync())
  const asking = await timed(async () => {
    for (let pageToken = "", isMore = true; isMore; isMore = pageToken !== "") {
      pageToken = (await peer.calls.conversations.listConversations({ pageToken })).nextPageToken
    }
  })
  await messenger?.close()
  return [
    { name: "a messenger is opened", ms: opening },
    { name: `${count} conversations asked for, bare stubs`, ratio: 1, ms: asking },
    { name: `${count} conversations listed from the store`, ms: listing },
    { name: `a first sync, with ${count} conversations`, ratio: asking / syncs, ms: syncs },
  ]
}

async function opened(people: readonly Person[]): Promise<{ person: Person; messenger: Messenger }[]> {
  const all: { person: Person; messenger: Messenger }[] = []
  for (const person of people) {
    const messenger = await person.open()
    await messenger.sync()
    all.push({ person, messenger })
  }
  return all
}

async function timed(work: () => Promise<unknown> | undefined): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}
