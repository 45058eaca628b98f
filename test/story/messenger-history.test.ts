// The history of a new device: another device of the same user transfers it, end-to-end encrypted, newest first.

import { create, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { utf8 } from "@signet/canonical/bytes"
import {
  cancelHistory,
  confirmHistoryCode,
  grantHistoryByCode,
  grantHistoryByQr,
  historyRequests,
  requestHistoryByCode,
  requestHistoryByQr,
  runHistory,
} from "@signet/client/messaging/history"
import { BackupChunkV1Schema } from "@signet/proto/client/v1/backup"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { keyOf } from "../../clients/core/messaging/backup/chunks.ts"
import { decodeChunk } from "../../clients/core/messaging/backup/open.ts"
import type { Context } from "../../clients/core/messaging/context.ts"
import { makeHpke } from "../../clients/core/messaging/crypto/hpke.ts"
import { ownKeys } from "../../clients/core/messaging/history/own-keys.ts"
import { requestTransfer } from "../../clients/core/messaging/history/receive.ts"
import { readTransfer, type StoredTransfer } from "../../clients/core/messaging/history/rows.ts"
import { openRequests, sendNext, transferIdOf } from "../../clients/core/messaging/history/send.ts"
import { openGrant, signGrant, signRequest, verifyRequest } from "../../clients/core/messaging/history/signed.ts"
import { contextOf } from "../../clients/core/messaging/opened-messengers.ts"
import { contains } from "../../clients/core/messaging/testing/cast.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import { suite } from "../support/messaging/device-parts.ts"
import { secretsOf } from "../support/messaging/device-secrets.ts"
import {
  type Messengers,
  messengersOn,
  type OpenedMessenger,
  systemClock,
  textsIn,
} from "../support/messaging/messengers.ts"
import { storyStore } from "../support/postgres.ts"

vi.setConfig({ testTimeout: 300_000 })

let server: Deployment
let messengers: Messengers
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 6 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

async function syncAll(...all: readonly OpenedMessenger[]): Promise<void> {
  for (let round = 0; round < 3; round++) for (const { messenger } of all) await messenger.sync()
}

const bigText = (i: number) => `${i} `.padEnd(200_000, "x")

/** A user with a history in two conversations, a compared peer, and a new device that is a member of both. */
async function talk(name: string, { texts = ["one", "two", "three"] }: { texts?: readonly string[] } = {}) {
  const [ann, ben] = [await messengers.newcomer(`ann ${name}`), await messengers.newcomer(`ben ${name}`)]
  const { id: direct } = await ann.messenger.createDirectConversation(ben.person.userId)
  const { id: group } = await ann.messenger.createGroupConversation([ben.person.userId])
  await syncAll(ben)
  await ben.messenger.send(direct, utf8("first"))
  for (const text of texts) await ann.messenger.send(group, utf8(text))
  await ann.messenger.sendAttachment(group, new Blob([new Uint8Array(utf8("a file"))]), { fileName: "a.txt" })
  await syncAll(ann, ben)
  const { verification } = ann.messenger
  await verification.markVerified(ben.person.userId, (await verification.of(ben.person.userId)).safetyNumber)
  const next = await messengers.open(await ann.person.again())
  await syncAll(next, ann, ben, next)
  return { ann, ben, next, direct, group }
}

const both = (one: OpenedMessenger, other: OpenedMessenger) =>
  Promise.all([runHistory(one.messenger), runHistory(other.messenger)])

const storedOf = async (context: Context, id: string): Promise<StoredTransfer> =>
  (await readTransfer(context, id)) ?? expect.fail("no transfer")

/** The entries that a device has before it was added, as another device of the user has them. */
async function expectSameHistory(old: OpenedMessenger, next: OpenedMessenger, id: string): Promise<void> {
  const [theirs, own] = [await old.messenger.timeline(id), await next.messenger.timeline(id)]
  const imported = own.filter((entry) => entry.imported !== undefined).map(({ imported: _, ...entry }) => entry)
  expect(imported.length).toBeGreaterThan(0)
  expect(imported).toEqual(theirs.slice(0, imported.length))
  expect(own.map(({ seq }) => seq)).toEqual(theirs.map(({ seq }) => seq))
}

test.runIf(isLong)("a transfer ends on both devices if the answer to its last call is lost", async () => {
  const [ann, ben] = [await messengers.newcomer("ann lost answer"), await messengers.newcomer("ben lost answer")]
  const { id: group } = await ann.messenger.createGroupConversation([ben.person.userId])
  await ann.messenger.send(group, utf8("one"))
  const next = await messengers.open(await ann.person.again())
  let losses = 0
  const transport: Transport = {
    async unary(method, ...call) {
      const answer = await messengers.transport.unary(method, ...call)
      if (method.name !== "CompleteArchive" || losses++ > 0) return answer
      // Reads everything, and deletes the transfer.
      await runHistory(next.messenger)
      throw new ConnectError("the answer is lost", Code.Unavailable)
    },
    stream: (...call) => messengers.transport.stream(...call),
  }
  const { person, store, box } = ann
  const losing = await messengers.open(person, { store, box, transport })
  const { qr } = await requestHistoryByQr(next.messenger)
  await grantHistoryByQr(losing.messenger, qr)
  await runHistory(losing.messenger)
  expect(losses).toBe(1)
  expect(await textsIn(next, group)).toEqual(["one"])
})

test.runIf(isLong)(
  "an old device that scans the QR code transfers the history, and conversations continue",
  async () => {
    const { ann, ben, next, direct, group } = await talk("by QR")
    expect(await textsIn(next, direct)).toEqual([])
    const { transferId, qr } = await requestHistoryByQr(next.messenger)
    expect(await historyRequests(ann.messenger)).toEqual([
      { transferId, deviceId: next.messenger.deviceId, code: undefined },
    ])
    await grantHistoryByQr(ann.messenger, qr)
    await both(ann, next)
    await expectSameHistory(ann, next, direct)
    await expectSameHistory(ann, next, group)
    expect(await textsIn(next, group)).toEqual(["one", "two", "three"])
    expect(await next.messenger.verification.status(ben.person.userId)).toBe("verified")
    const attachment = (await next.messenger.timeline(group)).find(({ is }) => is === "attachment")
    const opened = await next.messenger.openAttachment(group, attachment?.seq ?? 0n)
    expect(await opened.read(0, opened.size)).toEqual(utf8("a file"))
    await ben.messenger.send(direct, utf8("and on"))
    await next.messenger.sync()
    expect(await textsIn(next, direct)).toEqual(["first", "and on"])
    // Nothing is left on either device or at the service.
    for (const { messenger } of [ann, next]) {
      expect(await readTransfer(contextOf(messenger), transferId)).toBeUndefined()
      expect((await contextOf(messenger).calls.archives.listArchives({})).archives).toEqual([])
    }
  },
)

test.runIf(isLong)(
  "both devices show the same digits, and nothing is imported before they are confirmed on both",
  async () => {
    const { ann, next, direct } = await talk("by code")
    const { transferId, codes } = await requestHistoryByCode(next.messenger)
    const [asked] = await historyRequests(ann.messenger)
    const code = codes.find(({ deviceId }) => deviceId === ann.messenger.deviceId) ?? expect.fail()
    expect(asked).toEqual({ transferId, deviceId: next.messenger.deviceId, code: code.code })
    expect(code.code).toMatch(/^(\d{5} ){11}\d{5}$/)
    const wrong = code.code.replace(/^./, (digit) => (digit === "0" ? "1" : "0"))
    await expect(grantHistoryByCode(ann.messenger, transferId, wrong)).rejects.toMatchObject({
      reason: "COMPARISON_FAILED",
    })
    await expect(confirmHistoryCode(next.messenger, transferId, { ...code, code: wrong })).rejects.toMatchObject({
      reason: "COMPARISON_FAILED",
    })
    await grantHistoryByCode(ann.messenger, transferId, code.code)
    const ending = new AbortController()
    const waiting = runHistory(next.messenger, { signal: ending.signal }).catch(() => undefined)
    const sending = runHistory(ann.messenger)
    const chunksAt = async () =>
      (await contextOf(ann.messenger).calls.archives.listArchives({})).archives[0]?.chunkCount
    await vi.waitFor(async () => expect(await chunksAt()).toBeGreaterThan(3), { timeout: 60_000 })
    expect(await textsIn(next, direct)).toEqual([])
    await confirmHistoryCode(next.messenger, transferId, code)
    await Promise.all([waiting, sending])
    await expectSameHistory(ann, next, direct)
  },
)

test.runIf(isLong)(
  "both sides stop after every chunk, restart, and continue with the newest entries first",
  async () => {
    const texts = Array.from({ length: 14 }, (_, i) => bigText(i))
    const { ann, next, group } = await talk("stopped", { texts })
    const { qr } = await requestHistoryByQr(next.messenger)
    await grantHistoryByQr(ann.messenger, qr)
    let [one, other] = [ann, next]
    const reopened = async ({ person, store, box, messenger }: OpenedMessenger) => {
      await messenger.close()
      return messengers.open(person, { store, box })
    }
    const seen: number[] = []
    const step = async ({ messenger }: OpenedMessenger) => {
      const stop = new AbortController()
      const run = runHistory(messenger, { signal: stop.signal, onProgress: () => stop.abort() })
      return run.then(
        () => true,
        (error: unknown) => {
          if (stop.signal.aborted) return false
          throw error
        },
      )
    }
    for (let isSent = false; !isSent; ) {
      isSent = await step(one)
      one = await reopened(one)
    }
    for (let isDone = false; !isDone; ) {
      isDone = await step(other)
      other = await reopened(other)
      const shown = await textsIn(other, group)
      // The page always shows the newest part.
      expect(shown).toEqual(texts.slice(texts.length - shown.length))
      seen.push(shown.length)
    }
    expect(new Set(seen).size).toBeGreaterThan(3)
    await expectSameHistory(one, other, group)
  },
)

test.runIf(isLong)("two calls that grant one request at the same time send one grant", async () => {
  const { ann, next, direct } = await talk("granted twice")
  const { qr } = await requestHistoryByQr(next.messenger)
  await Promise.all([grantHistoryByQr(ann.messenger, qr), grantHistoryByQr(ann.messenger, qr)])
  await both(ann, next)
  await expectSameHistory(ann, next, direct)
})

test.runIf(isLong)("entries of the new device stay", async () => {
  const { ann, ben, next, group } = await talk("joined")
  await ben.messenger.send(group, utf8("to both"))
  await syncAll(ann, next)
  const own = await next.messenger.timeline(group)
  const { qr } = await requestHistoryByQr(next.messenger)
  await grantHistoryByQr(ann.messenger, qr)
  await both(ann, next)
  const all = await next.messenger.timeline(group)
  expect(all.filter((entry) => entry.imported === undefined)).toEqual(own)
  expect((await textsIn(next, group)).at(-1)).toBe("to both")
})

test.runIf(isLong)("a transfer has no secret of the device, of a group or of a message in transit", async () => {
  const { ann, ben, next, direct, group } = await talk("taint")
  await ann.messenger.encryptMessage(direct, utf8("in transit"))
  await ben.messenger.send(group, utf8("unread by ann"))
  const secrets = await secretsOf(contextOf(ann.messenger))
  const { transferId, qr } = await requestHistoryByQr(next.messenger)
  await grantHistoryByQr(ann.messenger, qr)
  const { record } = await storedOf(contextOf(ann.messenger), transferId)
  await runHistory(ann.messenger)
  const { archives } = contextOf(next.messenger).calls
  const archiveId = transferIdOf(transferId)
  const count = (await archives.listArchives({})).archives[0]?.chunkCount ?? 0
  const chain = keyOf(record.key.slice(), archiveId).salted(
    record.grantHash,
    { sequence: 0n, previous: new Uint8Array() },
    contextOf(next.messenger).random,
  )
  const chunks: Uint8Array[] = []
  const sealed: Uint8Array[] = []
  for (let index = 0; index < count; index++) {
    const { data } = await archives.readChunk({ archiveId, index })
    sealed.push(data)
    const content = decodeChunk(await chain.open(new Uint8Array(data)))
    chunks.push(toBinary(BackupChunkV1Schema, create(BackupChunkV1Schema, content)))
  }
  const found = (one: Uint8Array) => chunks.some((chunk) => contains(chunk, one))
  expect(found(utf8("three"))).toBe(true)
  expect([...secrets, record.key].filter(found)).toEqual([])
  expect(sealed.some((one) => contains(one, utf8("three")))).toBe(false)
})

/** A request of the new device, and what the old device needs to answer it. */
async function asked({ next }: Awaited<ReturnType<typeof talk>>) {
  const context = contextOf(next.messenger)
  const secret = context.random.bytes(32)
  const transferId = await requestTransfer(context, secret)
  const { side } = (await storedOf(context, transferId)).record
  if (side.case !== "receiving") return expect.fail()
  const open = {
    ...{ transferId: transferIdOf(transferId), request: side.value.request },
    ...{ hpkePrivateKey: side.value.hpkePrivateKey, secret, fromDeviceId: undefined },
  }
  return { context, open, secret }
}

test.runIf(isLong)("a grant opens only as the scanned device made it, for this request", async () => {
  const talked = await talk("grants")
  const { ann, ben, next } = talked
  const { context, open, secret } = await asked(talked)
  const old = contextOf(ann.messenger)
  const [request] = await openRequests(old)
  if (request === undefined) return expect.fail()
  const keys = await ownKeys(context)
  const key = old.random.bytes(32)
  const good = await signGrant(old, request, key, secret)
  expect(await openGrant(context, keys, open, good)).toEqual(key)
  const refusal = async (bytes: Uint8Array, its = keys, of: Parameters<typeof openGrant>[2] = open) =>
    openGrant(context, its, of, bytes).then(
      () => "opened",
      (error: Error) => error.message.replace(/^.*: /, ""),
    )
  expect(await refusal(await signGrant(old, request, key, old.random.bytes(32)))).toMatch(/has not scanned/)
  expect(await refusal(await signGrant(old, request, key, undefined))).toMatch(/has not scanned/)
  // Without a QR code, only the compared device.
  const compared = { ...open, secret: undefined, fromDeviceId: "dev_another" }
  expect(await refusal(good, keys, compared)).toMatch(/another device than the compared one/)
  // A device that is revoked now, or a ghost that no signed list names.
  const without = keys.filter(({ deviceId }) => deviceId !== ann.messenger.deviceId)
  expect(await refusal(good, without)).toMatch(/not an active one/)
  const ghost = { ...old, device: { ...old.device, id: old.device.id, caller: contextOf(ben.messenger).device.caller } }
  expect(await refusal(await signGrant(ghost, request, key, secret))).toMatch(/signature does not verify/)
  for (let i = 0; i < good.length; i += 7) {
    const flipped = good.map((byte, at) => (at === i ? byte ^ 1 : byte))
    expect(await refusal(flipped)).not.toBe("opened")
  }
  // The grant of another request of the same device.
  const second = await asked(talked)
  const [, other] = await openRequests(old)
  if (other === undefined) return expect.fail()
  expect(await refusal(await signGrant(old, other, key, secret))).toMatch(/another request/)
  expect(await refusal(good, keys, second.open)).toMatch(/another request/)
  expect(next.messenger.deviceId).not.toBe("")
})

test.runIf(isLong)(
  "only a fresh request of an own device in the signed list is shown, and it is granted once",
  async () => {
    const talked = await talk("requests")
    const { ann, ben, next } = talked
    const old = contextOf(ann.messenger)
    const context = contextOf(next.messenger)
    const { publicKey } = await makeHpke(suite).deriveKeyPair(context.random.bytes(32))
    const keys = await ownKeys(old)
    const transferId = context.random.bytes(16)
    const wanted = { transferId, hpkeKey: publicKey, secret: undefined }
    const good = await signRequest(context, wanted)
    const refusal = (bytes: Uint8Array, its = keys, by = old, id = transferId) => {
      try {
        return verifyRequest(by, its, id, bytes).from.deviceId
      } catch (error) {
        return error instanceof Error ? error.message.replace(/^[^:]*: /, "") : "?"
      }
    }
    expect(refusal(good)).toBe(next.messenger.deviceId)
    // A ghost device: no signed list names it.
    expect(
      refusal(
        good,
        keys.filter(({ deviceId }) => deviceId !== next.messenger.deviceId),
      ),
    ).toMatch(/not an active/)
    expect(refusal(await signRequest(contextOf(ben.messenger), wanted))).toMatch(/another user/)
    const ghost = {
      ...context,
      device: { ...context.device, id: context.device.id, caller: contextOf(ben.messenger).device.caller },
    }
    expect(refusal(await signRequest(ghost, wanted))).toMatch(/signature does not verify/)
    expect(refusal(good, keys, old, context.random.bytes(16))).toMatch(/another transfer/)
    expect(refusal(good, keys, context)).toMatch(/this device signed it/)
    const at = (ms: number): Context => ({ ...old, clock: { ...systemClock, nowMs: () => Date.now() + ms } })
    expect(refusal(good, keys, at(599_000))).toBe(next.messenger.deviceId)
    expect(refusal(good, keys, at(601_000))).toMatch(/expired/)
    expect(refusal(good, keys, at(-400_000))).toMatch(/future/)
    for (let i = 0; i < good.length; i += 5) {
      expect(refusal(good.map((byte, place) => (place === i ? byte ^ 1 : byte)))).not.toBe(next.messenger.deviceId)
    }

    // Another device's code, and a second grant.
    const { qr } = await requestHistoryByQr(next.messenger)
    const third = await messengers.open(await ann.person.again())
    const { qr: others } = await requestHistoryByQr(third.messenger)
    const swapped = Buffer.from(qr, "base64url")
    const [mine, theirs] = [Buffer.from(qr, "base64url"), Buffer.from(others, "base64url")]
    // The fingerprint of one device in the code of the other, whose secret is right.
    theirs.copy(swapped, 22, 22, 54)
    expect(mine.length).toBe(theirs.length)
    await expect(grantHistoryByQr(ann.messenger, swapped.toString("base64url"))).rejects.toMatchObject({
      reason: "HISTORY_REFUSED",
    })
    await expect(grantHistoryByQr(ben.messenger, qr)).rejects.toMatchObject({ reason: "HISTORY_REFUSED" })
    const [open] = (await historyRequests(ann.messenger)).filter(({ deviceId }) => deviceId === next.messenger.deviceId)
    await expect(grantHistoryByCode(ann.messenger, open?.transferId ?? "", "0")).rejects.toMatchObject({
      reason: "HISTORY_REFUSED",
    })
    await grantHistoryByQr(ann.messenger, qr)
    await expect(grantHistoryByQr(third.messenger, qr)).rejects.toMatchObject({ reason: "HISTORY_REFUSED" })
    await cancelHistory(next.messenger, open?.transferId ?? "")
    await runHistory(ann.messenger)
  },
)

test.runIf(isLong)("chunks that the service swaps, truncates, replays or withholds add no false entry", async () => {
  const texts = Array.from({ length: 8 }, (_, i) => bigText(i))
  const { ann, next, group } = await talk("hostile", { texts })
  const { transferId, qr } = await requestHistoryByQr(next.messenger)
  await grantHistoryByQr(ann.messenger, qr)
  await runHistory(ann.messenger)
  const context = contextOf(next.messenger)
  const { archives } = context.calls
  const { readChunk, listArchives } = archives
  const count = (await listArchives({})).archives[0]?.chunkCount ?? 0
  expect(count).toBeGreaterThan(4)
  const lie = (lies: Partial<typeof archives>) => Object.assign(archives, { readChunk, listArchives, ...lies })
  const chunk = async (index: number) => (await readChunk({ archiveId: transferIdOf(transferId), index })).data
  const answer = (make: (index: number) => Promise<Uint8Array>): Partial<typeof archives> => ({
    readChunk: async ({ index = 0 }) => ({
      $typeName: "signet.messaging.v1.ReadChunkResponse",
      data: await make(index),
    }),
  })
  const run = () => runHistory(next.messenger)
  const tampered = { reason: "HISTORY_TAMPERED" }
  const at = async () => Number((await storedOf(context, transferId)).record.next)
  // The first chunk is another one.
  lie(answer(async (index) => chunk(index + 1)))
  await expect(run()).rejects.toMatchObject(tampered)
  expect(await at()).toBe(0)
  // From the third chunk on: replayed, changed and cut.
  for (const make of [
    async () => chunk(1),
    async (index: number) => (await chunk(index)).map((byte, i) => (i === 40 ? byte ^ 1 : byte)),
    async (index: number) => (await chunk(index)).slice(0, -1),
    async () => new Uint8Array(3),
  ]) {
    lie(answer(async (index) => (index < 2 ? chunk(index) : make(index))))
    await expect(run()).rejects.toMatchObject(tampered)
    expect(await at()).toBe(2)
  }
  // The end is cut.
  lie({
    async listArchives() {
      const listed = await listArchives({})
      for (const one of listed.archives) one.chunkCount = Math.min(one.chunkCount, 3)
      return listed
    },
  })
  await expect(run()).rejects.toMatchObject(tampered)
  expect(await at()).toBe(3)
  lie({})
  await run()
  expect(await textsIn(next, group)).toEqual(texts)
})

test.runIf(isLong)("no chunk is sent to a revoked device, and a deleted request is reported", async () => {
  const { ann, next } = await talk("revoked")
  const { transferId, qr } = await requestHistoryByQr(next.messenger)
  await grantHistoryByQr(ann.messenger, qr)
  await ann.messenger.revokeDevice(next.messenger.deviceId)
  await runHistory(ann.messenger)
  const { archives } = contextOf(ann.messenger).calls
  expect((await archives.listArchives({})).archives).toEqual([])
  expect(await readTransfer(contextOf(ann.messenger), transferId)).toBeUndefined()

  const other = await messengers.open(await ann.person.again())
  const { transferId: id } = await requestHistoryByCode(other.messenger)
  await archives.deleteArchive({ archiveId: transferIdOf(id) })
  await expect(runHistory(other.messenger)).rejects.toMatchObject({ reason: "HISTORY_ENDED" })
  await runHistory(other.messenger)
})

test.runIf(isLong)(
  "a device that is revoked during a transfer gets no more chunks, also with an earlier list from the service",
  async () => {
    const { ann, next } = await talk("revoked-meanwhile", { texts: Array.from({ length: 8 }, (_, i) => bigText(i)) })
    const { transferId, qr } = await requestHistoryByQr(next.messenger)
    await grantHistoryByQr(ann.messenger, qr)
    const context = contextOf(ann.messenger)
    const { archives, devices } = context.calls
    const { listDeviceLists } = devices
    const earlier = await listDeviceLists({ userId: context.owner.userId, afterVersion: 0n, limit: 20 })
    const { appendChunk } = archives
    let chunks = 0
    archives.appendChunk = async (...asked) => {
      if (++chunks === 2) await ann.messenger.revokeDevice(next.messenger.deviceId)
      return appendChunk(...asked)
    }
    await runHistory(ann.messenger)
    expect(chunks).toBe(2)
    expect(await readTransfer(context, transferId)).toBeUndefined()

    devices.listDeviceLists = async () => earlier
    await expect(ownKeys(context)).rejects.toMatchObject({ code: "LIST_ROLLBACK" })
    devices.listDeviceLists = listDeviceLists
  },
)

test.runIf(isLong)(
  "an old device whose store returns to an earlier copy ends the transfer, and others go on",
  async () => {
    const { ann, next, group } = await talk("returned")
    const third = await messengers.open(await ann.person.again())
    await syncAll(third, ann)
    const first = await requestHistoryByQr(next.messenger)
    await grantHistoryByQr(ann.messenger, first.qr)
    const before = await copyOf(ann.store)
    const { archives } = contextOf(ann.messenger).calls
    const [archive] = (await archives.listArchives({})).archives
    // Seals a chunk, and sends it.
    for (let i = 0; i < 2; i++) expect(await sendNext(contextOf(ann.messenger), first.transferId, archive)).toBe(true)
    await ann.messenger.close()

    const returned = await messengers.open(ann.person, { store: before, box: ann.box })
    const second = await requestHistoryByQr(third.messenger)
    await grantHistoryByQr(returned.messenger, second.qr)
    await both(returned, third)
    expect(await textsIn(third, group)).toEqual(["one", "two", "three"])
    await expect(runHistory(next.messenger)).rejects.toMatchObject({ reason: "HISTORY_ENDED" })
    expect((await archives.listArchives({})).archives).toEqual([])
  },
)

test.runIf(isLong)("a complete transfer is read although the old device returns to an earlier copy", async () => {
  const { ann, next, group } = await talk("returned late")
  const { transferId, qr } = await requestHistoryByQr(next.messenger)
  await grantHistoryByQr(ann.messenger, qr)
  const before = await copyOf(ann.store)
  await runHistory(ann.messenger)
  await ann.messenger.close()
  const returned = await messengers.open(ann.person, { store: before, box: ann.box })
  await runHistory(returned.messenger)
  expect(await readTransfer(contextOf(returned.messenger), transferId)).toBeUndefined()
  await runHistory(next.messenger)
  expect(await textsIn(next, group)).toEqual(["one", "two", "three"])
})

test.runIf(isLong)("a transfer survives a grant that did not arrive, and a repeated confirmation", async () => {
  const { ann, next, direct } = await talk("repeated")
  const { transferId, codes } = await requestHistoryByCode(next.messenger)
  const code = codes.find(({ deviceId }) => deviceId === ann.messenger.deviceId) ?? expect.fail()
  const old = contextOf(ann.messenger)
  const stopped = () => Promise.reject(new Error("stopped"))
  const { grantTransfer, listArchives } = old.calls.archives
  Object.assign(old.calls.archives, { grantTransfer: stopped })
  await expect(grantHistoryByCode(ann.messenger, transferId, code.code)).rejects.toThrow("stopped")
  expect(await sendNext(old, transferId, (await listArchives({})).archives[0])).toBe(false)
  Object.assign(old.calls.archives, { grantTransfer })
  await grantHistoryByCode(ann.messenger, transferId, code.code)
  await runHistory(ann.messenger)

  const { archives } = contextOf(next.messenger).calls
  const { readChunk } = archives
  await confirmHistoryCode(next.messenger, transferId, code)
  Object.assign(archives, { readChunk: stopped })
  await expect(runHistory(next.messenger)).rejects.toThrow("stopped")
  Object.assign(archives, { readChunk })
  await confirmHistoryCode(next.messenger, transferId, code)
  await runHistory(next.messenger)
  await expectSameHistory(ann, next, direct)
})
