// Files between messengers on a real server: uploads in parts, downloads in ranges, and access.
import { inspect } from "node:util"
import { Code, ConnectError } from "@connectrpc/connect"
import { AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import type { DownloadPartResponse } from "@signet/proto/messaging/v1/attachment_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { failureOf } from "../../clients/core/errors.ts"
import type { AttachmentSource } from "../../clients/core/messaging/attachments/source.ts"
import { contentOfAttachment } from "../../clients/core/messaging/content.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { ask } from "../../clients/core/messaging/sending/intents.ts"
import { sendContent } from "../../clients/core/messaging/sending/outbox.ts"
import { keyOfSeq } from "../../clients/core/messaging/state/timeline.ts"
import { renewCredential, sync } from "../../clients/core/messaging/sync/sync.ts"
import { isLong } from "../support/effort.ts"
import {
  type Attaching,
  bytes,
  expectSame,
  file,
  mib,
  readAll,
  startAttaching,
} from "../support/messaging/attaching.ts"
import { lyingTransport } from "../support/messaging/lying-transport.ts"
import type { Messengers, OpenedMessenger } from "../support/messaging/messengers.ts"
import { watchedTransport } from "../support/messaging/watched-transport.ts"

let world: Attaching
let messengers: Messengers
let ann: OpenedMessenger
let ben: OpenedMessenger
let id: string
let again: Attaching["again"]
let newest: Attaching["newest"]
let endingTransport: Attaching["endingTransport"]
beforeAll(async () => {
  world = await startAttaching()
  ;({ messengers, ann, ben, id, again, newest, endingTransport } = world)
})
afterAll(() => world?.close())

test("a file is uploaded in parts, and downloaded as a whole or in ranges, with its name", async () => {
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
    // A stopped download continues.
    expectSame(await readAll(attachment.stream({ from: 70_001 })), bytes.slice(70_001))
  }
})

/** The newest attachment's manifest, which the app never gets. */
async function manifestOf(opened: OpenedMessenger) {
  const { seq } = await newest(opened.messenger)
  const { context } = await openContext(...messengers.optionsFor(opened.person, opened))
  const place = { space: id, table: "attachment", key: keyOfSeq(seq) } as const
  const [row] = (await opened.store.read(id, [place])).values
  const manifest = await context.rows.read(place, AttachmentManifestSchema, row ?? expect.fail("no row"))
  return { context, manifest, seq }
}

test.runIf(isLong)("a file whose message is overtaken by a commit is sent in the new epoch", async () => {
  const watched = watchedTransport(messengers.transport)
  const { messenger } = await again(ann, watched)
  watched.before = async ({ method }) => {
    if (method !== "AppendMessage") return
    watched.before = undefined
    await ben.messenger.refreshKeys(id)
  }
  const { seq } = await messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  expect(watched.inputsOf("AppendMessage")).toHaveLength(2)
  expect((await newest(ben.messenger)).seq).toBe(seq)
})

test.each([
  ["once is uploaded again, and sent", 1, "sent"],
  ["twice is not sent", 2, "INVALID_FIELD"],
])("a file whose bytes the service finds altered %s", async (_, refusals, outcome) => {
  const watched = watchedTransport(messengers.transport)
  const { messenger } = await again(ann, watched)
  let left = refusals
  watched.before = async ({ method }) => {
    if (method !== "CompleteAttachment" || left-- <= 0) return
    throw new ConnectError("altered", Code.InvalidArgument, undefined, [
      { desc: ErrorInfoSchema, value: { reason: "INVALID_FIELD", domain: "signet" } },
    ])
  }
  const sending = messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  expect(
    await sending.then(
      ({ state }) => state,
      (error: unknown) => failureOf(error)?.reason,
    ),
  ).toBe(outcome)
  expect(watched.inputsOf("UploadPart")).toHaveLength(2)
  for (const upload of await messenger.uploads(id)) await messenger.cancelUpload(id, upload.id)
})

test.runIf(isLong)(
  "a file whose upload the device's renewal overtakes is not sent: no recipient would accept its key",
  async () => {
    const watched = watchedTransport(messengers.transport)
    const { messenger } = await again(ann, watched)
    watched.before = async ({ method }) => {
      if (method !== "CompleteAttachment") return
      watched.before = undefined
      await renewCredential((await openContext(...messengers.optionsFor(ann.person, ann))).context)
      await (await again(ann, messengers.transport)).messenger.refreshKeys(id)
    }
    const sending = messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
    await expect(sending).rejects.toMatchObject({ reason: "ATTACHMENT_GONE" })
    ann = await again(ann, messengers.transport)
    for (const upload of await ann.messenger.uploads(id)) await ann.messenger.cancelUpload(id, upload.id)
  },
)

test("a file that waits to be sent is listed without a text", async () => {
  const watched = watchedTransport(messengers.transport)
  const { messenger } = await again(ann, watched)
  watched.losing = "AppendMessage"
  const sending = messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  await expect(sending).rejects.toMatchObject({ reason: "QUEUED" })
  expect(await messenger.outbox(id)).toMatchObject([{ plaintext: undefined, state: "sending" }])
  watched.losing = undefined
  await messenger.sync()
  expect(await messenger.outbox(id)).toEqual([])
})

test("the key is in a separate row, and in no value that an app gets", async () => {
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

test.runIf(isLong)("two uploads of the same file share no key, salt, id or ciphertext", async () => {
  const sent = [await sendOne(), await sendOne()]
  const [one, two] = sent
  for (const field of ["attachmentId", "key", "salt", "ciphertextSha256", "locator"] as const) {
    expect(one?.[field], field).not.toEqual(two?.[field])
  }
  async function sendOne() {
    await ann.messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
    return (await manifestOf(ann)).manifest
  }
})

test.runIf(isLong)("an app's bytes that look like a manifest stay the app's bytes", async () => {
  await ann.messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  const { manifest } = await manifestOf(ben)
  const forged = contentOfAttachment(manifest)
  await ben.messenger.send(id, forged)
  await ann.messenger.sync()
  const entry = (await ann.messenger.timeline(id, { limit: 10_000 })).at(-1)
  expect(entry).toMatchObject({ is: "message", plaintext: forged })
})

test("a manifest of another sender's attachment is refused", async () => {
  await ann.messenger.sendAttachment(id, new Blob([bytes.slice(0, 10)]))
  const { context, manifest } = await manifestOf(ben)
  // A modified client, which sends the manifest in a message of its own.
  await sendContent(context.conversation(id), () => ({ content: contentOfAttachment(manifest), ops: [] })).catch(
    () => undefined,
  )
  await ann.messenger.sync()
  const entry = (await ann.messenger.timeline(id, { limit: 10_000 })).at(-1)
  expect(entry).toMatchObject({ is: "unreadable", reason: "CONTENT_REFUSED" })
})

test.runIf(isLong)("at most one part and one chunk of a file are in memory, whatever its size", async () => {
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
      // The pass that hashes the file precedes the first part, and holds one chunk at a time.
      if (done === 0) most = reading = 0
      sent = done
    },
  })
  expect(most).toBeLessThan(mib + 8 * 65_536)
  expect(reading).toBeGreaterThanOrEqual(size)
  expect(reading).toBeLessThan(size + 8 * 65_536)
  await newest(ben.messenger)
})

test.runIf(isLong)("changed, truncated or exchanged parts are refused, and a deleted file is reported", async () => {
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

test.runIf(isLong).each<[string, AttachmentSource, object, string]>([
  ["a path as the name", file, { fileName: "../notes" }, "ATTACHMENT_INVALID"],
  ["an invalid media type", file, { mediaType: "text/plain; x=<y>" }, "ATTACHMENT_INVALID"],
  ["too large a file", { size: 101 * mib, slice: () => file }, {}, "ATTACHMENT_TOO_LARGE"],
  ["no such upload", file, { resume: "00" }, "ATTACHMENT_UNKNOWN"],
])("%s is refused, and nothing is kept", async (_, source, options, reason) => {
  await expect(ann.messenger.sendAttachment(id, source, options)).rejects.toMatchObject({ reason })
  expect(await ann.messenger.uploads(id)).toEqual([])
  await expect(ann.messenger.openAttachment(id, 1n)).rejects.toMatchObject({ reason: "ATTACHMENT_UNKNOWN" })
  await expect(ann.messenger.cancelUpload(id, "00")).rejects.toMatchObject({ reason: "ATTACHMENT_UNKNOWN" })
})

test("an upload continues only with the same file, and can be canceled", async () => {
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

test.runIf(isLong)("an aborted signal stops the upload between two parts", async () => {
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

test.runIf(isLong)(
  "a file that a renewal of the sender's credential made unsendable is reported, and blocks nothing",
  async () => {
    // Stored, but not sent.
    const offline = await again(ann, endingTransport(3, "before"))
    const small = new Blob([bytes.slice(0, 9)])
    await expect(offline.messenger.sendAttachment(id, small)).rejects.toMatchObject({ reason: "QUEUED" })
    const { context } = await openContext(...messengers.optionsFor(ann.person, ann))
    await context.device.renew(context)
    const [options, primitives] = messengers.optionsFor(ann.person, ann)
    const renewed = await openContext(options, primitives)
    const told: unknown[] = []
    renewed.events.subscribe((event) => (event.is === "failed" ? told.push(event.error) : undefined))
    await ask(renewed.context.conversation(id), { case: "update", value: {} })
    await sync(renewed.context)
    expect(told).toEqual([expect.objectContaining({ reason: "ATTACHMENT_GONE" })])
    await ann.messenger.sync()
    await ben.messenger.sync()
    const { seq } = await ann.messenger.send(id, new Uint8Array(3))
    await ben.messenger.sync()
    expect((await ben.messenger.timeline(id, { limit: 10_000 })).at(-1)).toMatchObject({ seq, is: "message" })
  },
)
