// Files between messengers on a real server: up in parts, down by ranges, and on from wherever it stopped.
import { inspect } from "node:util"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { concat } from "@signet/canonical/bytes"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import type { DownloadPartResponse } from "@signet/proto/messaging/v1/attachment_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { AttachmentSource } from "../../clients/core/messaging/attachments/source.ts"
import { contentOfAttachment } from "../../clients/core/messaging/content.ts"
import type { Messenger } from "../../clients/core/messaging/messenger.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { ask } from "../../clients/core/messaging/sending/intents.ts"
import { sendContent } from "../../clients/core/messaging/sending/outbox.ts"
import { keyOfSeq } from "../../clients/core/messaging/state/timeline.ts"
import { sync } from "../../clients/core/messaging/sync/sync.ts"
import { plaintextOf } from "../../clients/core/messaging/testing/attachment-bytes.ts"
import { type Fault, faultyStore, StoreFault } from "../../clients/core/messaging/testing/faulty-store.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { effort } from "../support/effort.ts"
import { lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type Seated, systemClock } from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

const mib = 1_048_576
const bytes = plaintextOf(1_100_000)
const file = new Blob([bytes])

let server: Deployment
let messengers: Messengers
let ann: Seated
let ben: Seated
let id: string
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  ben = await messengers.newcomer("ben")
  id = (await ann.messenger.createGroupConversation([ben.person.userId])).id
  await ben.messenger.sync()
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** Does not wait before it tries again. */
const clock = { ...systemClock, after: (_: number, run: () => void) => systemClock.after(0, run) }
const again = ({ person, store, box }: Seated, transport: Transport) =>
  messengers.open(person, { store, box, transport, clock })
const newest = async (messenger: Messenger) => {
  await messenger.sync()
  const entry = (await messenger.timeline(id, { limit: 10_000 })).at(-1)
  return entry?.is === "attachment" ? entry : expect.fail(`no attachment: ${entry?.is}`)
}
/** Element by element a megabyte takes a second. */
const expectSame = (one: Uint8Array, other: Uint8Array) => expect(Buffer.compare(one, other)).toBe(0)
async function readAll(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  return concat(...pieces)
}

test("a file goes up in parts, and comes down whole or by ranges, with its name", async () => {
  const progress: number[] = []
  const sent = await ann.messenger.sendAttachment(id, file, {
    fileName: "notes.bin",
    mediaType: "application/octet-stream",
    onProgress: (done) => progress.push(done),
  })
  expect(progress.at(-1)).toBeGreaterThan(bytes.length)
  expect([...progress].sort((a, b) => a - b)).toEqual(progress)
  expect(await ann.messenger.uploads(id)).toEqual([])
  for (const one of [ann, ben]) {
    const entry = await newest(one.messenger)
    expect(entry).toMatchObject({ seq: sent.seq, fileName: "notes.bin", size: bytes.length })
    expect(entry.from.userId).toBe(ann.person.userId)
    const attachment = await one.messenger.openAttachment(id, entry.seq)
    expectSame(await readAll(attachment.stream()), bytes)
    expect(await attachment.read(mib - 5, mib + 5)).toEqual(bytes.slice(mib - 5, mib + 5))
    // A download that stopped goes on.
    expectSame(await readAll(attachment.stream({ from: 70_001 })), bytes.slice(70_001))
  }
})

/** The newest attachment's manifest, which no app ever sees. */
async function manifestOf(seated: Seated) {
  const { seq } = await newest(seated.messenger)
  const { context } = await openContext(...messengers.optionsFor(seated.person, seated))
  const place = { space: id, table: "attachment", key: keyOfSeq(seq) } as const
  const [row] = (await seated.store.read(id, [place])).values
  const manifest = await context.rows.read(place, AttachmentManifestSchema, row ?? expect.fail("no row"))
  return { context, manifest, seq }
}

test("the key is in a row of its own, and in nothing that an app holds", async () => {
  await ann.messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  const { manifest, seq } = await manifestOf(ben)
  const held = [
    await ben.messenger.openAttachment(id, seq),
    await ben.messenger.timeline(id),
    await ben.messenger.conversations(),
    await ann.messenger.uploads(id),
  ]
  const shown = inspect(held, { depth: 20, showHidden: true, maxArrayLength: 100 }).replace(/\s+/g, " ")
  const json = JSON.stringify(held, (_, value) => (typeof value === "bigint" ? `${value}` : value))
  const key = Buffer.from(manifest.key)
  expect(shown).toContain("fileName")
  for (const form of [[...key.subarray(0, 8)].join(", "), key.toString("hex"), key.toString("base64").slice(0, 40)]) {
    expect(shown).not.toContain(form)
    expect(json).not.toContain(form)
  }
  expect(json).not.toContain([...key.subarray(0, 4)].map((byte, i) => `"${i}":${byte}`).join(","))
})

test("an app's bytes that look like a manifest are the app's bytes", async () => {
  await ann.messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  const { manifest } = await manifestOf(ben)
  const forged = contentOfAttachment(manifest)
  await ben.messenger.send(id, forged)
  await ann.messenger.sync()
  const entry = (await ann.messenger.timeline(id, { limit: 10_000 })).at(-1)
  expect(entry).toMatchObject({ is: "message", plaintext: forged })
})

test("another one's manifest, passed on as one's own, is not taken", async () => {
  await ann.messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  const { context, manifest } = await manifestOf(ben)
  // A client that has no scruples: what it encrypts is not marked as text.
  await sendContent(context, id, () => ({ content: contentOfAttachment(manifest), ops: [] })).catch(() => undefined)
  await ann.messenger.sync()
  const entry = (await ann.messenger.timeline(id, { limit: 10_000 })).at(-1)
  expect(entry).toMatchObject({ is: "unreadable", reason: "CONTENT_REFUSED" })
})

/** A network that ends for good with its k-th call, counted from 0. */
function endingTransport(at: number, when: "before" | "after"): Transport & { readonly count: number } {
  let count = 0
  const lost = () => new ConnectError("the network has ended", Code.Unavailable)
  return {
    get count() {
      return count
    },
    async unary(...call) {
      const now = count++
      if (now < at) return messengers.transport.unary(...call)
      if (now === at && when === "after") await messengers.transport.unary(...call)
      throw lost()
    },
    stream: (...call) => messengers.transport.stream(...call),
  }
}

describe.each(["before", "after"] as const)("a network that ends %s the service has done it", (when) => {
  test.each(effort([3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]))(
    "at call %d: the upload goes on from there, and the message comes once",
    async (at) => {
      const before = (await ann.messenger.timeline(id, { limit: 10_000 })).length
      const stopped = await again(ann, endingTransport(at, when))
      const failure = await stopped.messenger
        .sendAttachment(id, file, { fileName: "x" })
        .catch((error: unknown) => error)
      const [left] = await ann.messenger.uploads(id)
      if (at < 4) {
        expect(failure).toMatchObject({ reason: "ATTACHMENT_INTERRUPTED" })
        expect(left).toMatchObject({ fileName: "x", size: bytes.length })
        await ann.messenger.sendAttachment(id, file, { resume: left?.id ?? "" })
      } else {
        // The message is written: it is sent by the next sync.
        expect(failure).toMatchObject({ reason: "QUEUED" })
        expect(left).toBeUndefined()
      }
      expect(await ann.messenger.uploads(id)).toEqual([])
      const { seq } = await newest(ben.messenger)
      await ann.messenger.sync()
      expect((await ann.messenger.timeline(id, { limit: 10_000 })).length).toBe(before + 1)
      expect(await (await ben.messenger.openAttachment(id, seq)).read(mib, mib + 9)).toEqual(bytes.slice(mib, mib + 9))
    },
  )

  test.each(effort([1], [0, 1, 2], [0, 1, 2]))("at call %d: the download goes on from where it was", async (at) => {
    const { seq } = await newest(ben.messenger)
    const stopped = await again(ben, endingTransport(at, when))
    const attachment = await stopped.messenger.openAttachment(id, seq)
    const got: Uint8Array[] = []
    await expect(
      (async () => {
        for await (const piece of attachment.stream()) got.push(piece)
      })(),
    ).rejects.toMatchObject({ reason: "ATTACHMENT_INTERRUPTED" })
    const there = concat(...got)
    const rest = await (await ben.messenger.openAttachment(id, seq)).stream({ from: there.length })
    expectSame(concat(there, await readAll(rest)), bytes)
  })
})

const storeFaults: readonly Pick<Fault, "when" | "ends">[] = [
  { when: "before", ends: true },
  { when: "after", ends: true },
  { when: "before", ends: false },
  { when: "after", ends: false },
]

/** All places of so many operations, each in every way; a share of them by day, another one each time. */
function troubles(count: number): Fault[] {
  const all = Array.from({ length: count }, (_, at) => storeFaults.map((kind) => ({ at, ...kind }))).flat()
  const step = effort(Math.ceil(all.length / 6), Math.ceil(all.length / 40), 1)
  const first = Math.floor(Math.random() * step)
  return all.filter((_, i) => i % step === first)
}

describe("whatever operation of the store fails, or is the last one of a process,", () => {
  const small = new Blob([bytes.slice(0, 90_000)])
  /** Opened on a store that fails so; with no fault, it counts. */
  async function openOn({ person, store, box }: Seated, fault?: Fault) {
    const failing = faultyStore(store, fault)
    return { failing, messenger: (await messengers.open(person, { store: failing, box, clock })).messenger }
  }
  const namesOf = async (messenger: Messenger, fileName: string) =>
    (await messenger.timeline(id, { limit: 10_000 })).filter(
      (entry) => entry.is === "attachment" && entry.fileName === fileName,
    )

  test("a file that is sent comes once, and whole", { timeout: effort(60_000, 600_000, 7_200_000) }, async () => {
    async function run(fileName: string, fault?: Fault): Promise<number> {
      const failing = faultyStore(ann.store, fault)
      let messenger: Messenger | undefined
      try {
        messenger = (await messengers.open(ann.person, { store: failing, box: ann.box, clock })).messenger
        await messenger.sendAttachment(id, small, { fileName })
      } catch {
        // What it failed with is not what this is about.
      }
      const { count } = failing
      failing.calm()
      const goesOn = messenger !== undefined && !failing.isDead
      const again = goesOn && messenger ? messenger : (await openOn(ann)).messenger
      for (const left of await again.uploads(id)) {
        expect(left).toMatchObject({ fileName, size: small.size })
        await again.sendAttachment(id, small, { resume: left.id })
      }
      await again.sync()
      // Nothing was begun, or all of it was done.
      if ((await namesOf(again, fileName)).length === 0) await again.sendAttachment(id, small, { fileName })
      expect(await again.uploads(id)).toEqual([])
      await ben.messenger.sync()
      const [entry, ...more] = await namesOf(ben.messenger, fileName)
      expect(more).toEqual([])
      expect(await namesOf(again, fileName)).toHaveLength(1)
      const opened = await ben.messenger.openAttachment(id, entry?.seq ?? 0n)
      expectSame(await opened.read(0, small.size), bytes.slice(0, small.size))
      return count
    }
    const count = await run("untroubled")
    for (const [i, fault] of troubles(count).entries()) {
      await run(`troubled ${i}`, fault).catch((cause: unknown) => {
        throw new Error(`with ${JSON.stringify(fault)} of ${count}`, { cause })
      })
    }
  })

  test("a file is read whole or not at all, and again", { timeout: effort(60_000, 600_000, 7_200_000) }, async () => {
    await ann.messenger.sendAttachment(id, small, { fileName: "to be read" })
    const { seq } = await newest(ben.messenger)
    const read = async (messenger: Messenger) => (await messenger.openAttachment(id, seq)).read(0, small.size)
    const counting = await openOn(ben)
    expectSame(await read(counting.messenger), bytes.slice(0, small.size))
    const { count } = counting.failing
    for (const fault of troubles(count)) {
      const failing = faultyStore(ben.store, fault)
      const opening = messengers.open(ben.person, { store: failing, box: ben.box, clock })
      const got = await opening.then(({ messenger }) => read(messenger)).catch((error: unknown) => error)
      if (got instanceof Uint8Array) expectSame(got, bytes.slice(0, small.size))
      else expect(got, JSON.stringify(fault)).toBeInstanceOf(StoreFault)
      expectSame(await read((await openOn(ben)).messenger), bytes.slice(0, small.size))
    }
  })
})

test("of a file of any size, a part and a chunk are read ahead of what was sent", async () => {
  let reading = 0
  let most = 0
  let sent = 0
  const size = 5 * mib
  const source: AttachmentSource = {
    size,
    slice: (from, to) => ({
      async arrayBuffer() {
        reading += to - from
        most = Math.max(most, reading - sent)
        return new ArrayBuffer(to - from)
      },
    }),
  }
  await ann.messenger.sendAttachment(id, source, {
    onProgress(done) {
      // Before the first part there is the reading that hashes, which holds a chunk at a time.
      if (done === 0) most = reading = 0
      sent = done
    },
  })
  expect(most).toBeLessThan(mib + 8 * 65_536)
  expect(reading).toBeGreaterThanOrEqual(size)
  expect(reading).toBeLessThan(size + 8 * 65_536)
  await newest(ben.messenger)
})

test("what the service changes, cuts or swaps is refused, and a file that is gone is told", async () => {
  await ann.messenger.sendAttachment(id, file)
  const { seq } = await newest(ben.messenger)
  const lying = lyingTransport(messengers.transport)
  const attachment = await (await again(ben, lying)).messenger.openAttachment(id, seq)
  const bend = (change: (answer: DownloadPartResponse) => void) => {
    const isPart = (answer: object): answer is DownloadPartResponse => "data" in answer
    lying.bend = { method: "DownloadPart", answer: (answer) => (isPart(answer) ? change(answer) : undefined) }
  }
  bend((answer) => {
    answer.data = answer.data.slice(1)
  })
  await expect(readAll(attachment.stream())).rejects.toMatchObject({ reason: "ATTACHMENT_TAMPERED" })
  bend((answer) => {
    answer.data[200_000] = (answer.data[200_000] ?? 0) ^ 1
  })
  await expect(readAll(attachment.stream())).rejects.toMatchObject({ reason: "ATTACHMENT_TAMPERED" })
  lying.bend = undefined
  expectSame(await readAll(attachment.stream()), bytes)
})

test.each<[string, AttachmentSource, object, string]>([
  ["a path for a name", file, { fileName: "../notes" }, "ATTACHMENT_INVALID"],
  ["a media type that is none", file, { mediaType: "text/plain; x=<y>" }, "ATTACHMENT_INVALID"],
  ["more than there is room for", { size: 101 * mib, slice: () => file }, {}, "ATTACHMENT_TOO_LARGE"],
  ["no such upload", file, { resume: "00" }, "ATTACHMENT_UNKNOWN"],
])("%s is refused, and nothing is kept", async (_, source, options, reason) => {
  await expect(ann.messenger.sendAttachment(id, source, options)).rejects.toMatchObject({ reason })
  expect(await ann.messenger.uploads(id)).toEqual([])
  await expect(ann.messenger.openAttachment(id, 1n)).rejects.toMatchObject({ reason: "ATTACHMENT_UNKNOWN" })
  await expect(ann.messenger.cancelUpload(id, "00")).rejects.toMatchObject({ reason: "ATTACHMENT_UNKNOWN" })
})

test("an upload goes on with the same file alone, and can be given up", async () => {
  const stopped = await again(ann, endingTransport(1, "after"))
  await stopped.messenger.sendAttachment(id, file).catch(() => undefined)
  const [left] = await ann.messenger.uploads(id)
  const resume = left?.id ?? expect.fail("no upload")
  const other = bytes.slice()
  other[mib + 9] = (other[mib + 9] ?? 0) ^ 1
  for (const source of [new Blob([other]), new Blob([bytes.slice(1)])]) {
    await expect(ann.messenger.sendAttachment(id, source, { resume })).rejects.toMatchObject({
      reason: "ATTACHMENT_SOURCE_CHANGED",
    })
  }
  await ann.messenger.cancelUpload(id, resume)
  expect(await ann.messenger.uploads(id)).toEqual([])
})

test("whoever gives up waiting stops the upload between two parts", async () => {
  const giveUp = new AbortController()
  const sending = ann.messenger.sendAttachment(id, file, {
    signal: giveUp.signal,
    onProgress: (done) => {
      if (done > 0) giveUp.abort()
    },
  })
  await expect(sending).rejects.toMatchObject({ name: "AbortError" })
  const [left] = await ann.messenger.uploads(id)
  await ann.messenger.sendAttachment(id, file, { resume: left?.id ?? "" })
  expect((await newest(ben.messenger)).size).toBe(bytes.length)
})

test("a file whose sender's credential was renewed before it was sent is told, and holds nothing up", async () => {
  // Written, and not sent.
  const offline = await again(ann, endingTransport(3, "before"))
  const small = new Blob([bytes.slice(0, 9)])
  await expect(offline.messenger.sendAttachment(id, small)).rejects.toMatchObject({ reason: "QUEUED" })
  const { context } = await openContext(...messengers.optionsFor(ann.person, ann))
  await context.device.renew(context)
  const [options, primitives] = messengers.optionsFor(ann.person, ann)
  const renewed = await openContext(options, primitives)
  const told: unknown[] = []
  renewed.events.subscribe((event) => (event.is === "failed" ? told.push(event.error) : undefined))
  await ask(renewed.context, id, { case: "update", value: {} })
  await sync(renewed.context)
  expect(told).toEqual([expect.objectContaining({ reason: "ATTACHMENT_GONE" })])
  await ann.messenger.sync()
  await ben.messenger.sync()
  const { seq } = await ann.messenger.send(id, new Uint8Array(3))
  await ben.messenger.sync()
  expect((await ben.messenger.timeline(id, { limit: 10_000 })).at(-1)).toMatchObject({ seq, is: "message" })
})
