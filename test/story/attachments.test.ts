// Attachments over the wire: in parts, in any order, for members only.
import { createHash, randomBytes } from "node:crypto"
import { idOf, parseId } from "@signet/kernel/ids"
import { defaultLimits } from "@signet/kernel/limits/policy"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import { type Attachment, Attachment_Status } from "@signet/proto/messaging/v1/records"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createS3Blobs } from "../../server/blobs/s3.ts"
import { sweepAttachments } from "../../server/rpc/messaging/attachment/attachment-sweep.ts"
import { protocols, refusal } from "../support/clients.ts"
import { isLong, sample } from "../support/effort.ts"
import { callsOver, type MessagingCalls } from "../support/messaging/calls.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import type { Room } from "../support/messaging/room.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"
import { credentials, startTestS3, type TestS3 } from "../support/s3.ts"

const mib = 1_048_576
const ciphertext = randomBytes(2 * mib + 500)
const partOf = (index: number, of: Uint8Array = ciphertext) => of.subarray(index * mib, (index + 1) * mib)
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest()
const wanted = (conversationId: string, of: Uint8Array = ciphertext) => ({
  conversationId,
  size: BigInt(of.length),
  sha256: sha256(of),
  idempotencyKey: randomBytes(16),
})
const small = randomBytes(40)

/** Alice and Bob have a conversation; Carol is not a member. */
interface Scene {
  readonly server: MessagingServer
  readonly alice: TestDevice
  readonly bob: TestDevice
  readonly carol: TestDevice
  readonly room: Room
}

async function open(options: Omit<Parameters<typeof startMessagingServer>[0], "store"> = {}): Promise<Scene> {
  const server = await startMessagingServer({ store: storyStore, ...options })
  const registered = async () => {
    const transport = protocols.gRPC?.(server.url) ?? expect.fail("no such protocol")
    const device = await newDevice(transport, await server.person(crypto.randomUUID()))
    await device.register()
    await device.upload(4)
    return device
  }
  const [alice, bob, carol] = [await registered(), await registered(), await registered()]
  const room = await alice.createGroup([bob.userId])
  await bob.join()
  return { server, alice, bob, carol, room }
}

async function created({ attachments }: MessagingCalls, request: ReturnType<typeof wanted>): Promise<Attachment> {
  return (await attachments.createAttachment(request)).attachment ?? expect.fail("no attachment")
}

/** A small attachment, completed. */
async function completed({ calls }: TestDevice, room: Room): Promise<string> {
  const { id } = await created(calls, wanted(room.id, small))
  await calls.attachments.uploadPart({ attachmentId: id, index: 0, data: small })
  await calls.attachments.completeAttachment({ attachmentId: id })
  return id
}

const keyOf = (id: string, index: number) => `att/${id}/${index}`
const missing = idOf("att", randomBytes(16))

describe("in a folder", () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await open()
  })
  afterAll(() => scene?.server.close())
  const blobs = () => scene.server.messaging.deps.blobs
  const sweep = (afterMs = 0) => {
    const { deps } = scene.server.messaging
    return sweepAttachments({ ...deps, clock: { nowMs: () => deps.clock.nowMs() + afterMs } })
  }

  test.each(sample(1, Object.entries(protocols)))(
    "over %s, parts are uploaded in any order, and downloaded unchanged",
    async (_, over) => {
      const { server, alice, bob, room } = scene
      const sender = callsOver(over(server.url), alice.credentials).attachments
      const reader = callsOver(over(server.url), bob.credentials).attachments
      const bytes = ciphertext.subarray(mib)
      const { attachment } = await sender.createAttachment(wanted(room.id, bytes))
      expect(attachment).toMatchObject({
        conversationId: room.id,
        status: Attachment_Status.UPLOADING,
        size: BigInt(bytes.length),
        partSize: mib,
        partCount: 2,
        missingParts: [0, 1],
      })
      const attachmentId = attachment?.id ?? ""
      const last = await sender.uploadPart({ attachmentId, index: 1, data: partOf(1, bytes) })
      expect(last.attachment?.missingParts).toEqual([0])
      expect(await refusal(sender.completeAttachment({ attachmentId }))).toContain("ATTACHMENT_INCOMPLETE")
      expect(await refusal(reader.downloadPart({ attachmentId, index: 0 }))).toContain("ATTACHMENT_INCOMPLETE")
      await sender.uploadPart({ attachmentId, index: 0, data: partOf(0, bytes) })
      const complete = await sender.completeAttachment({ attachmentId })
      expect(complete.attachment).toMatchObject({ status: Attachment_Status.COMPLETE, missingParts: [] })
      expect(await sender.completeAttachment({ attachmentId })).toEqual(complete)
      expect((await reader.getAttachment({ attachmentId })).attachment).toEqual(complete.attachment)
      const parts = [0, 1].map((index) => reader.downloadPart({ attachmentId, index, acceptUrl: true }))
      const answers = await Promise.all(parts)
      expect(answers.map(({ url }) => url)).toEqual(["", ""])
      expect(Buffer.concat(answers.map(({ data }) => data)).equals(bytes)).toBe(true)
      expect(await refusal(sender.presignPart({ attachmentId, index: 0 }))).toContain("ATTACHMENT_COMPLETE")
    },
  )

  test("an upload continues after lost answers: the same key gives the same attachment, and a repeated part is no error", async () => {
    const { calls } = scene.alice
    const request = wanted(scene.room.id)
    const first = await created(calls, request)
    await calls.attachments.uploadPart({ attachmentId: first.id, index: 1, data: partOf(1) })
    const again = await created(calls, request)
    expect(again).toEqual({ ...first, missingParts: [0, 2] })
    await Promise.all(
      [2, 0, 1, 2].map((index) => calls.attachments.uploadPart({ attachmentId: first.id, index, data: partOf(index) })),
    )
    const { attachment } = await calls.attachments.completeAttachment({ attachmentId: first.id })
    expect(attachment?.status).toBe(Attachment_Status.COMPLETE)
    expect((await created(calls, request)).status).toBe(Attachment_Status.COMPLETE)
    const { id: conversationId } = await scene.alice.createGroup([scene.bob.userId])
    const others = [{ size: 5n }, { sha256: randomBytes(32) }, { conversationId }]
    for (const change of others) {
      const call = calls.attachments.createAttachment({ ...request, ...change })
      expect(await refusal(call)).toBe("AlreadyExists IDEMPOTENCY_MISMATCH")
    }
  })

  test.each<[string, (key: string) => Promise<unknown>]>([
    ["lost", (key) => blobs().delete(key)],
    ["cut short", (key) => blobs().put(key, small.subarray(1))],
  ])("a part that was %s after its upload is missing, and is not served", async (_, change) => {
    const { attachments } = scene.alice.calls
    const { id: attachmentId } = await created(scene.alice.calls, wanted(scene.room.id, small))
    await attachments.uploadPart({ attachmentId, index: 0, data: small })
    await change(keyOf(attachmentId, 0))
    expect(await refusal(attachments.completeAttachment({ attachmentId }))).toBe(
      "FailedPrecondition ATTACHMENT_INCOMPLETE",
    )
    await attachments.uploadPart({ attachmentId, index: 0, data: small })
    await attachments.completeAttachment({ attachmentId })
    await change(keyOf(attachmentId, 0))
    const download = scene.bob.calls.attachments.downloadPart({ attachmentId, index: 0 })
    expect(await refusal(download)).toBe("Unavailable UNAVAILABLE")
  })

  test("an attachment with a wrong hash is not completed until its bytes are corrected", async () => {
    const { attachments } = scene.alice.calls
    const { id: attachmentId } = await created(scene.alice.calls, wanted(scene.room.id, small))
    await attachments.uploadPart({ attachmentId, index: 0, data: randomBytes(small.length) })
    expect(await refusal(attachments.completeAttachment({ attachmentId }))).toBe("InvalidArgument INVALID_FIELD")
    expect((await attachments.getAttachment({ attachmentId })).attachment?.status).toBe(Attachment_Status.UPLOADING)
    await attachments.uploadPart({ attachmentId, index: 0, data: small })
    await attachments.completeAttachment({ attachmentId })
    const late = attachments.uploadPart({ attachmentId, index: 0, data: small })
    expect(await refusal(late)).toBe("FailedPrecondition ATTACHMENT_COMPLETE")
  })

  test.runIf(isLong)("a part that is too large, too small or out of range is not written", async () => {
    const { attachments } = scene.alice.calls
    const request = wanted(scene.room.id)
    expect(await refusal(attachments.createAttachment({ ...request, size: 104_857_601n }))).toContain("INVALID_FIELD")
    const { id: attachmentId } = await created(scene.alice.calls, request)
    const upload = (index: number, size: number) =>
      refusal(attachments.uploadPart({ attachmentId, index, data: Buffer.alloc(size) }))
    for (const [index, size] of [
      [0, mib - 1],
      [0, mib + 1],
      [2, 501],
      [3, 500],
      [100, mib],
    ] as const) {
      expect(await upload(index, size)).toBe("InvalidArgument INVALID_FIELD")
    }
    const overConnect = protocols["Connect JSON over HTTP/1.1"]?.(scene.server.url) ?? expect.fail("no such protocol")
    const large = callsOver(overConnect, scene.alice.credentials).attachments
    const call = large.uploadPart({ attachmentId, index: 0, data: Buffer.alloc(2 * mib) })
    expect(await refusal(call)).toContain("ResourceExhausted")
    expect(await blobs().size(keyOf(attachmentId, 0))).toBeUndefined()
    expect(await refusal(attachments.downloadPart({ attachmentId, index: 3 }))).toBe("InvalidArgument INVALID_FIELD")
  })

  test("an attachment does not exist for non-members, and members other than its creator can only read it", async () => {
    const { alice, bob, carol, room } = scene
    const attachmentId = await completed(alice, room)
    const everything = ({ attachments }: MessagingCalls, id: string) => [
      attachments.uploadPart({ attachmentId: id, index: 0, data: small }),
      attachments.presignPart({ attachmentId: id, index: 0 }),
      attachments.completeAttachment({ attachmentId: id }),
      attachments.deleteAttachment({ attachmentId: id }),
      attachments.getAttachment({ attachmentId: id }),
      attachments.downloadPart({ attachmentId: id, index: 0 }),
    ]
    const none = "PermissionDenied RESOURCE_UNRESOLVED"
    for (const id of [attachmentId, missing]) {
      const refused = await Promise.all(everything(carol.calls, id).map(refusal))
      expect(refused).toEqual(Array(6).fill(none))
    }
    expect(await refusal(carol.calls.attachments.createAttachment(wanted(room.id)))).toBe(none)
    const bobs = await Promise.allSettled(everything(bob.calls, attachmentId))
    expect(bobs.map(({ status }) => status)).toEqual([...Array(4).fill("rejected"), "fulfilled", "fulfilled"])
    expect(await refusal(bob.calls.attachments.deleteAttachment({ attachmentId }))).toBe(none)
    const upper = attachmentId.replace("att_", "att_../")
    expect(await refusal(alice.calls.attachments.getAttachment({ attachmentId: upper }))).toContain("INVALID_FIELD")
    // Alice's second device is not in the group.
    const transport = protocols.gRPC?.(scene.server.url) ?? expect.fail("no such protocol")
    const other = await newDevice(transport, await alice.session.again())
    await other.register()
    const call = other.calls.attachments.createAttachment(wanted(room.id))
    expect(await refusal(call)).toBe("PermissionDenied NOT_MEMBER")
  })

  test("a deleted attachment is gone at once, and its bytes after a sweep", async () => {
    const { alice, bob, room, server } = scene
    const attachmentId = await completed(alice, room)
    const kept = await completed(alice, room)
    const { attachments } = alice.calls
    await attachments.deleteAttachment({ attachmentId })
    await attachments.deleteAttachment({ attachmentId })
    for (const by of [alice, bob]) {
      expect(await refusal(by.calls.attachments.downloadPart({ attachmentId, index: 0 }))).toContain("UNRESOLVED")
    }
    const again = wanted(room.id, small)
    await attachments.deleteAttachment({ attachmentId: (await created(alice.calls, again)).id })
    expect(await refusal(attachments.createAttachment(again))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await blobs().size(keyOf(attachmentId, 0))).toBe(small.length)
    await sweep()
    await sweep()
    expect(await blobs().size(keyOf(attachmentId, 0))).toBeUndefined()
    expect(await blobs().size(keyOf(kept, 0))).toBe(small.length)
    const found = await server.store.messaging.attachments.find(parseId("att", attachmentId) ?? expect.fail())
    expect(found).toBeUndefined()
  })

  test.runIf(isLong)("a removed member can no longer read, and can still delete their own attachments", async () => {
    const { alice, bob, carol } = scene
    const room = await alice.createGroup([carol.userId])
    await carol.join()
    const [alices, carols] = [await completed(alice, room), await completed(carol, room)]
    const read = (attachmentId: string) => carol.calls.attachments.downloadPart({ attachmentId, index: 0 })
    expect((await read(alices)).data).toEqual(new Uint8Array(small))
    await alice.remove(room, { userIds: [carol.userId] })
    expect(await refusal(read(alices))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(read(carols))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(carol.calls.attachments.createAttachment(wanted(room.id)))).toContain("UNRESOLVED")
    expect(await refusal(bob.calls.attachments.deleteAttachment({ attachmentId: carols }))).toContain("UNRESOLVED")
    await carol.calls.attachments.deleteAttachment({ attachmentId: carols })
    expect(await refusal(alice.calls.attachments.getAttachment({ attachmentId: carols }))).toContain("UNRESOLVED")
  })

  test("an upload expires after a day, an attachment ninety days after its completion, and a sweep deletes both", async () => {
    const { alice, room } = scene
    const day = 86_400_000
    const { id } = await created(alice.calls, wanted(room.id, small))
    await alice.calls.attachments.uploadPart({ attachmentId: id, index: 0, data: small })
    const whole = await completed(alice, room)
    const left = async () => [await blobs().size(keyOf(id, 0)), await blobs().size(keyOf(whole, 0))]
    await sweep(day)
    expect(await left()).toEqual([40, 40])
    await sweep(day + 960_000)
    expect(await left()).toEqual([undefined, 40])
    await sweep(90 * day)
    expect(await left()).toEqual([undefined, 40])
    await sweep(90 * day + 960_000)
    expect(await left()).toEqual([undefined, undefined])
  })
})

describe("in a bucket", () => {
  let s3: TestS3
  let scene: Scene
  /** Called before a part is put. */
  let onPut: (() => Promise<unknown>) | undefined
  let onRead: (() => Promise<unknown>) | undefined
  beforeAll(async () => {
    s3 = await startTestS3(() => Date.now())
    const withHook = (store: BlobStore): BlobStore => ({
      ...store,
      async put(key, bytes) {
        await onPut?.()
        return store.put(key, bytes)
      },
      async get(key) {
        await onRead?.()
        return store.get(key)
      },
      async size(key) {
        await onRead?.()
        return store.size(key)
      },
    })
    const place = { ...credentials, endpoint: s3.url, presignedSeconds: 900, timeoutMs: 2_000, nowMs: Date.now }
    const few = { device: { limit: 20, seconds: 86_400 }, user: { limit: 1_000, seconds: 86_400 } }
    const limits = { ...defaultLimits, windows: { ...defaultLimits.windows, messaging_part: few } }
    scene = await open({ blobs: () => withHook(createS3Blobs(place)), limits })
  })
  afterAll(async () => {
    await scene?.server.close()
    await s3?.close()
  })

  test.runIf(isLong)("parts go directly to the store and from it, and missing parts are found", async () => {
    const { attachments } = scene.alice.calls
    const { id: attachmentId } = await created(scene.alice.calls, wanted(scene.room.id))
    const put = async (index: number, body: Uint8Array) => {
      const { url } = await attachments.presignPart({ attachmentId, index })
      return (await fetch(url, { method: "PUT", body: new Uint8Array(body) })).status
    }
    expect([await put(0, partOf(0)), await put(2, partOf(2))]).toEqual([200, 200])
    expect(await put(1, partOf(2))).toBe(403)
    const early = attachments.completeAttachment({ attachmentId })
    expect(await refusal(early)).toBe("FailedPrecondition ATTACHMENT_INCOMPLETE")
    expect((await attachments.getAttachment({ attachmentId })).attachment?.missingParts).toEqual([1])
    // Both ways of upload can be combined.
    await attachments.uploadPart({ attachmentId, index: 1, data: partOf(1) })
    await attachments.completeAttachment({ attachmentId })
    const download = (index: number, acceptUrl: boolean) =>
      scene.bob.calls.attachments.downloadPart({ attachmentId, index, acceptUrl })
    const { url, data } = await download(2, true)
    expect(data.length).toBe(0)
    expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(partOf(2))).toBe(true)
    expect(Buffer.from((await download(1, false)).data).equals(partOf(1))).toBe(true)
  })

  test.each([
    [507, "XMinioStorageFull", "ResourceExhausted STORAGE_FULL"],
    [503, "SlowDown", "Unavailable UNAVAILABLE"],
  ])("a store that answers %d %s is told to the caller, who tries again", async (status, code, refused) => {
    const { attachments } = scene.alice.calls
    const { id: attachmentId } = await created(scene.alice.calls, wanted(scene.room.id, small))
    s3.failNext = { status, code }
    const upload = () => attachments.uploadPart({ attachmentId, index: 0, data: small })
    expect(await refusal(upload())).toBe(refused)
    expect((await attachments.getAttachment({ attachmentId })).attachment?.missingParts).toEqual([0])
    expect((await upload()).attachment?.missingParts).toEqual([])
  })

  test.each(["deleted", "swept"])(
    "a part that arrives after its attachment was %s is not left behind",
    async (what) => {
      const { attachments } = scene.alice.calls
      const { id: attachmentId } = await created(scene.alice.calls, wanted(scene.room.id, small))
      onPut = async () => {
        onPut = undefined
        await attachments.deleteAttachment({ attachmentId })
        if (what === "swept") await sweepAttachments(scene.server.messaging.deps)
      }
      const late = attachments.uploadPart({ attachmentId, index: 0, data: small })
      expect(await refusal(late)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
      expect([...s3.objects.keys()].filter((key) => key.includes(attachmentId))).toEqual([])
    },
  )

  test.each(["through the service", "straight to the store"])(
    "an attachment that is deleted during its completion is gone, with its part put %s",
    async (way) => {
      const { attachments } = scene.alice.calls
      const { id: attachmentId } = await created(scene.alice.calls, wanted(scene.room.id, small))
      if (way === "through the service") await attachments.uploadPart({ attachmentId, index: 0, data: small })
      else {
        const { url } = await attachments.presignPart({ attachmentId, index: 0 })
        expect((await fetch(url, { method: "PUT", body: new Uint8Array(small) })).status).toBe(200)
      }
      onRead = async () => {
        onRead = undefined
        await attachments.deleteAttachment({ attachmentId })
      }
      const completed = attachments.completeAttachment({ attachmentId })
      expect(await refusal(completed)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
      expect(await refusal(attachments.getAttachment({ attachmentId }))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
      await sweepAttachments(scene.server.messaging.deps)
    },
  )

  test("a failed erasure is tried again, and does not block others", async () => {
    const ids = [await completed(scene.alice, scene.room), await completed(scene.alice, scene.room)]
    for (const attachmentId of ids) await scene.alice.calls.attachments.deleteAttachment({ attachmentId })
    const left = () => [...s3.objects.keys()].filter((key) => ids.some((id) => key.includes(id))).length
    s3.failNext = { status: 503, code: "SlowDown" }
    await expect(sweepAttachments(scene.server.messaging.deps)).rejects.toThrow(AggregateError)
    expect(left()).toBe(1)
    await sweepAttachments(scene.server.messaging.deps)
    expect(left()).toBe(0)
  })

  test("a device's number of parts is limited over both ways of upload", async () => {
    const { attachments } = scene.alice.calls
    const { id: attachmentId } = await created(scene.alice.calls, wanted(scene.room.id, small))
    const calls = Array.from({ length: 20 }, () => attachments.presignPart({ attachmentId, index: 0 }))
    const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === "rejected")
    expect([refused.length > 0, refused.length < 20]).toEqual([true, true])
    const part = attachments.uploadPart({ attachmentId, index: 0, data: small })
    expect(await refusal(part)).toBe("ResourceExhausted RATE_LIMITED")
    expect([...s3.objects.keys()].filter((key) => key.includes(attachmentId))).toEqual([])
  })
})
