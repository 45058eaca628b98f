// The client core in an embedded engine, and a plain Node client, on one real server.
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { plaintextOf } from "../../clients/core/messaging/testing/attachment-bytes.ts"
import { type Deployment, startDeployment } from "../support/edge-server.ts"
import { isLong } from "../support/effort.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { type CoreMember, coreTexts, type NativeCores, nativeCoresOn } from "../support/messaging/native-cores.ts"
import { storyStore } from "../support/postgres.ts"

let server: Deployment
let messengers: Messengers
let cores: NativeCores
let ann: CoreMember
let ben: OpenedMessenger
beforeAll(async () => {
  server = await startDeployment({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 8 })
  cores = await nativeCoresOn(server)
  ann = await cores.newcomer("ann in the engine")
  ben = await messengers.newcomer("ben in Node")
})
afterAll(async () => {
  await cores?.close()
  await messengers?.close()
  await server?.close()
})

const utf8 = (text: string) => new TextEncoder().encode(text)

async function directWithBen(): Promise<string> {
  const { conversation } = await ann.messenger.createDirectConversation({ peerUserId: ben.person.userId })
  return conversation?.id ?? expect.fail("no conversation")
}

test.runIf(isLong)(
  "a core and a plain Node client write to each other, and their safety numbers are equal",
  async () => {
    const id = await directWithBen()
    const { queued, seq } = await ann.messenger.send({ conversationId: id, plaintext: utf8("from the engine") })
    expect([queued, seq > 0n]).toEqual([false, true])
    await ben.messenger.sync()
    await ben.messenger.send(id, utf8("from Node"))
    const { message } = await ann.messenger.encryptMessage({ conversationId: id, plaintext: utf8("later") })
    expect(message.length).toBeGreaterThan(100)
    expect((await ann.messenger.listOutbox({ conversationId: id })).items).toMatchObject([{ isSending: true }])
    await ann.messenger.sync()
    await ann.messenger.refreshKeys({ conversationId: id })
    await ben.messenger.sync()
    const texts = ["from the engine", "from Node", "later"]
    expect((await textsIn(ben, id)).sort()).toEqual(texts.toSorted())
    expect(await coreTexts(ann, id)).toEqual(await textsIn(ben, id))
    const heard = ann.events.flatMap(({ event }) => (event.case === "entry" ? [event.value.entry?.entry.case] : []))
    expect(heard.filter((one) => one === "message")).toHaveLength(3)

    const { verification } = await ann.messenger.getVerification({ userId: ben.person.userId })
    const mirrored = await ben.messenger.verification.of(ann.userId)
    expect(verification?.safetyNumber).toMatch(/^(\d{5} ){11}\d{5}$/)
    expect(verification?.safetyNumber).toBe(mirrored.safetyNumber)
    const { text: scanned } = await ann.messenger.getQrCode({ userId: ben.person.userId })
    expect((await ben.messenger.verification.scan(ann.userId, scanned)).status).toBe("verified")
    const compared = mirrored.safetyNumber
    const marked = await ann.messenger.markVerified({ userId: ben.person.userId, compared })
    expect(marked.verification).toMatchObject({ status: "verified", comparedBy: "number" })
    const { digits } = await ann.messenger.getGroupCode({ conversationId: id })
    expect(digits).toBe(await ben.messenger.verification.groupCode(id))
  },
)

test.runIf(isLong)("a group of two cores and a plain client adds and removes members", async () => {
  const cyd = await cores.newcomer("cyd in another engine")
  const { conversation } = await ann.messenger.createGroupConversation({ memberUserIds: [ben.person.userId] })
  const { id: conversationId = "" } = conversation ?? {}
  await ann.messenger.addMembers({ conversationId, userIds: [cyd.userId] })
  await cyd.messenger.sync()
  await cyd.messenger.send({ conversationId, plaintext: utf8("cyd is here") })
  await ben.messenger.sync()
  expect(await textsIn(ben, conversationId)).toEqual(["cyd is here"])
  await ben.messenger.removeMembers(conversationId, [cyd.userId])
  await cyd.messenger.sync()
  await ann.messenger.sync()
  expect((await cyd.messenger.getConversation({ conversationId })).conversation?.status).toBe("removed")
  expect((await ann.messenger.getConversation({ conversationId })).conversation?.memberUserIds.toSorted()).toEqual(
    [ann.userId, ben.person.userId].sort(),
  )
  await expect(cyd.messenger.send({ conversationId, plaintext: utf8("no more") })).rejects.toMatchObject({
    reason: "CONVERSATION_NOT_ACTIVE",
  })
})

test.runIf(isLong)("files go both ways, and only verified bytes are written", async () => {
  const conversationId = await directWithBen()
  const bytes = plaintextOf(700_001)
  const [sent, saved] = ["sent", "saved"].map((name) => join(ann.kept.folder, name)) as [string, string]
  writeFileSync(sent, bytes)
  await ann.messenger.sendAttachment({ conversationId, path: sent, fileName: "a.bin", mediaType: "x/y" })
  await ben.messenger.sync()
  const [entry] = (await ben.messenger.timeline(conversationId)).filter(({ is }) => is === "attachment")
  const received = await ben.messenger.openAttachment(conversationId, entry?.seq ?? 0n)
  expect([received.fileName, received.mediaType, received.size]).toEqual(["a.bin", "x/y", bytes.length])
  expect(Buffer.compare(await received.read(0, bytes.length), bytes)).toBe(0)

  const { seq } = await ben.messenger.sendAttachment(conversationId, new Blob([bytes]), { fileName: "b.bin" })
  await ann.messenger.sync()
  const { size } = await ann.messenger.saveAttachment({ conversationId, seq, path: saved })
  expect([size, Buffer.compare(readFileSync(saved), bytes)]).toEqual([BigInt(bytes.length), 0])
  const range = { conversationId, seq, from: 5n, to: 400_000n }
  const part = await ann.messenger.readAttachment(range)
  expect(Buffer.compare(part.bytes, bytes.subarray(5, 400_000))).toBe(0)
  const progress = ann.events.flatMap(({ event }) => (event.case === "progress" ? [event.value] : []))
  expect(progress.at(-1)).toMatchObject({ path: saved, doneBytes: size, totalBytes: size })
  // The file exists: it is not replaced.
  await expect(ann.messenger.saveAttachment({ conversationId, seq, path: saved })).rejects.toMatchObject({
    reason: "FILE_STATE",
  })
  expect(statSync(saved).size).toBe(bytes.length)
})

test.runIf(isLong)("another core continues from the stored rows, and follows the service's hints", async () => {
  const id = await directWithBen()
  await ann.messenger.close()
  await ann.core.close()
  await expect(ann.messenger.sync()).rejects.toMatchObject({ reason: "CLOSED" })
  await ben.messenger.sync()
  await ben.messenger.send(id, utf8("while it was away"))

  const again = await cores.start(ann.kept)
  const { state } = await again.identity.ready()
  expect(state?.state.case).toBe("signedIn")
  await again.open()
  again.userId = ann.userId
  const running = again.messenger.run()
  await expect.poll(() => coreTexts(again, id)).toContain("while it was away")
  await ben.messenger.send(id, utf8("by a hint"))
  await expect.poll(() => coreTexts(again, id)).toContain("by a hint")
  await again.messenger.stop()
  await running
  ann = again
})

test.runIf(isLong)("a blocked user's entries are marked, and a sign-out ends the session", async () => {
  const cyd = await cores.newcomer("cyd who signs out")
  await cyd.messenger.blockUser({ userId: ben.person.userId })
  expect((await cyd.messenger.listBlockedUsers()).userIds).toEqual([ben.person.userId])
  await cyd.messenger.unblockUser({ userId: ben.person.userId })
  expect((await cyd.messenger.listBlockedUsers()).userIds).toEqual([])
  expect((await cyd.messenger.listDevices()).devices).toMatchObject([{ isThisOne: true, isRevoked: false }])
  expect(await cyd.identity.logout()).toMatchObject({ endedAtService: true })
  expect(cyd.events.map(({ event }) => event).at(-1)).toMatchObject({
    case: "signedIn",
    value: { state: { case: "loggedOut", value: "LOGGED_OUT" } },
  })
  await expect(cyd.messenger.sync()).rejects.toMatchObject({
    reason: expect.stringMatching(/NOT_SIGNED_IN|WRONG_USER/),
  })
  await expect(cyd.open()).rejects.toMatchObject({ reason: "NOT_SIGNED_IN" })
})

test("a call that cannot be carried out fails with typed facts", async () => {
  const fails = async (call: Promise<unknown>) => {
    const { failure } = await call.then(() => expect.fail("no failure"), Object)
    return { kind: failure.kind, reason: failure.reason }
  }
  expect(await fails(ann.core.call("MessengerService/Unknown", new Uint8Array()))).toMatchObject({
    reason: "UNKNOWN_METHOD",
  })
  expect(await fails(ann.core.call("MessengerService/Send", Uint8Array.of(255)))).toMatchObject({
    reason: "INVALID_ARGUMENT",
  })
  expect(await fails(ann.messenger.createDirectConversation({ peerUserId: "ben" }))).toMatchObject({
    reason: expect.stringMatching(/INVALID/),
  })
  expect(await fails(ann.messenger.refreshKeys({ conversationId: "cnv_x" }))).toMatchObject({
    reason: "CONVERSATION_UNKNOWN",
  })
  expect(await fails(ann.messenger.open({ baseUrl: server.url }))).toMatchObject({ reason: "INVALID_ARGUMENT" })
})
