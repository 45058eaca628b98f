// A member who encrypts content that no client would send. Clients show the content as it is or as unreadable, and read
// the next message.
import { create, toBinary } from "@bufbuild/protobuf"
import { concat } from "@signet/canonical/bytes"
import { type AttachmentManifest, AttachmentManifestSchema } from "@signet/proto/client/v1/attachment"
import { afterAll, beforeAll, expect, test } from "vitest"
import { contentOfAttachment } from "../../clients/core/messaging/content.ts"
import type { Context } from "../../clients/core/messaging/context.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { sendContent } from "../../clients/core/messaging/sending/outbox.ts"
import { keyOfSeq } from "../../clients/core/messaging/state/timeline.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let ann: OpenedMessenger
let mallory: Context
let id: string
/** The manifest of a file that Mallory has sent. */
let good: AttachmentManifest
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  ann = await messengers.newcomer("ann")
  const hers = await messengers.newcomer("mallory")
  id = (await hers.messenger.createGroupConversation([ann.person.userId])).id
  const { seq } = await hers.messenger.sendAttachment(id, new Blob([new Uint8Array(10)]), { fileName: "a file" })
  const opened = await openContext(...messengers.optionsFor(hers.person, hers))
  mallory = opened.context
  const place = { space: id, table: "attachment", key: keyOfSeq(seq) } as const
  const [row] = (await hers.store.read(id, [place])).values
  good = await mallory.rows.read(place, AttachmentManifestSchema, row ?? expect.fail("no row"))
  await ann.messenger.sync()
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/**
 * Encrypts each content as Mallory without checks.
 *
 * @returns The entries that Ann sees. Also checks that the next message is readable.
 */
async function shown(...contents: Uint8Array[]) {
  const next = Uint8Array.of(7)
  for (const content of [...contents, next]) {
    await sendContent(mallory.conversation(id), () => ({ content, ops: [] })).catch(() => undefined)
  }
  await ann.messenger.sync()
  const entries = (await ann.messenger.timeline(id, { limit: 1_000 })).slice(-1 - contents.length)
  expect(entries.pop()).toMatchObject({ is: "message", plaintext: next })
  return entries
}

const mark = new TextEncoder().encode("\0signet-content\0")
const manifest = (change: Partial<AttachmentManifest>) =>
  contentOfAttachment(create(AttachmentManifestSchema, { ...good, ...change }))
/** Returns a Protobuf field with an unknown number, or with bytes in place of text. */
const field = (number: number, bytes: Uint8Array) =>
  Uint8Array.of((number << 3) | 2, 0x80 | (bytes.length & 127), bytes.length >> 7, ...bytes)
const raw = (...more: Uint8Array[]) => concat(mark, Uint8Array.of(1), toBinary(AttachmentManifestSchema, good), ...more)
const huge = 2n ** 64n - 1n

test("invalid content is shown as unreadable", async () => {
  const entries = await shown(
    // Without a kind, with an unknown kind, and with malformed manifests.
    mark,
    concat(mark, Uint8Array.of(200), new Uint8Array(100)),
    concat(mark, Uint8Array.of(1)),
    concat(mark, Uint8Array.of(1), new Uint8Array(1_000).fill(0xff)),
    // A name that is not UTF-8.
    raw(field(11, Uint8Array.of(0xed, 0xa0, 0x80))),
    manifest({ plaintextSize: huge, ciphertextSize: huge }),
    manifest({ plaintextSize: 2n ** 40n, ciphertextSize: 2n ** 40n }),
    manifest({ chunkSize: 0 }),
    manifest({ chunkSize: 2 ** 32 - 1 }),
    manifest({ ciphertextSize: good.ciphertextSize + 1n }),
    manifest({ version: 2 }),
    manifest({ key: new Uint8Array() }),
    manifest({ locator: new Uint8Array(15) }),
    manifest({ conversationId: new Uint8Array(16) }),
    manifest({ senderCredentialHash: new Uint8Array(32) }),
  )
  expect(entries).toHaveLength(15)
  for (const entry of entries) expect(entry).toMatchObject({ is: "unreadable", reason: "CONTENT_REFUSED" })
})

test("a file name that is a path or contains deceptive characters is dropped", async () => {
  const names = [
    "../../.ssh/authorized_keys",
    "C:\\autoexec.bat",
    "photo\u202egpj.exe",
    "..",
    "a\0b",
    "a\nb",
    "x".repeat(256),
  ]
  const entries = await shown(...names.map((fileName) => manifest({ fileName })))
  expect(entries).toHaveLength(names.length)
  for (const entry of entries) expect(entry).toMatchObject({ is: "attachment", fileName: "" })
})

/** The directional marks, embeddings, overrides and isolates of Unicode's Bidirectional Algorithm. */
const directional = [0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069]
const nameWith = (code: number) => `invoice${String.fromCodePoint(code)}fdp.exe`

test.runIf(isLong)("a file name with any character that changes the direction of text is dropped", async () => {
  const entries = await shown(...directional.map((code) => manifest({ fileName: nameWith(code) })))
  const names = entries.map((entry) => (entry.is === "attachment" ? entry.fileName : entry.is))
  expect(names).toEqual(directional.map(() => ""))
})

test.each(directional.map((code) => [code.toString(16), nameWith(code)]))(
  "a file name with U+%s, which changes the direction of text, is not sent",
  async (_, fileName) => {
    const sending = ann.messenger.sendAttachment(id, new Blob([new Uint8Array(10)]), { fileName })
    await expect(sending).rejects.toMatchObject({ reason: "ATTACHMENT_INVALID" })
  },
)

test("an invalid media type is dropped", async () => {
  const types = ["text/html; charset=utf-8", "TEXT/HTML", "image", "../x", "a/b\r\nset-cookie: c=d"]
  const entries = await shown(...types.map((mediaType) => manifest({ mediaType })))
  expect(entries).toHaveLength(types.length)
  for (const entry of entries) expect(entry).toMatchObject({ is: "attachment", mediaType: "" })
})

test("unknown fields beside a manifest are not stored", async () => {
  const planted = new TextEncoder().encode("planted beside it")
  const [entry] = await shown(raw(field(15, planted)))
  expect(entry).toMatchObject({ is: "attachment", fileName: "a file" })
  for (const table of ["attachment", "timeline"] as const) {
    for (const { value } of await ann.store.list(id, table))
      expect(Buffer.from(value).includes(Buffer.from(planted))).toBe(false)
  }
})

test("an empty message, and one that begins like the client's own content, are passed to the app unchanged", async () => {
  const [nothing, ours] = await shown(new Uint8Array(), concat(mark, Uint8Array.of(0), mark))
  expect(nothing).toMatchObject({ is: "message", plaintext: new Uint8Array() })
  expect(ours).toMatchObject({ is: "message", plaintext: mark })
})
