// A device that returns after its credential has expired stays the same device. A device that has ended gets an error,
// and a new device replaces it with its timeline.

import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import type { UploadKeyPackagesRequest } from "@signet/proto/messaging/v1/key_package_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { hex } from "../../clients/core/messaging/crypto/bytes.ts"
import { isMessagingError } from "../../clients/core/messaging/errors.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { deviceSpace } from "../../clients/core/messaging/store/store.ts"
import { renewCredential } from "../../clients/core/messaging/sync/sync.ts"
import { faultyStore, StoreFault } from "../../clients/core/messaging/testing/faulty-store.ts"
import { effort, isLong } from "../support/effort.ts"
import { copyOf } from "../support/messaging/copied-store.ts"
import { type Messengers, messengersOn, type OpenedMessenger, textsIn } from "../support/messaging/messengers.ts"
import { movedClock } from "../support/messaging/moved-clock.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { watchedTransport } from "../support/messaging/watched-transport.ts"
import { storyStore } from "../support/postgres.ts"

const day = 86_400_000

let server: MessagingServer
let messengers: Messengers
const time = movedClock(() => server)
const { clock } = time

let here: OpenedMessenger
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 2 })
  here = await newcomer("ben")
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

const pass = (days: number) => time.pass(days * day)

const utf8 = (text: string) => new TextEncoder().encode(text)
const newcomer = (name: string) => messengers.newcomer(name, { clock })

/** Opens it in a new process, after a new sign-in of its user. */
async function backAgain(opened: OpenedMessenger): Promise<OpenedMessenger> {
  return messengers.open(await opened.person.again(), { store: opened.store, box: opened.box, clock })
}

/** @param ben The tests of a device that returns in time share one. */
async function talk(
  name: string,
  ben: OpenedMessenger,
): Promise<{ ann: OpenedMessenger; ben: OpenedMessenger; id: string }> {
  const ann = await newcomer(`ann ${name}`)
  const { id } = await ann.messenger.createDirectConversation(ben.person.userId)
  await ben.messenger.sync()
  await ben.messenger.send(id, utf8("before"))
  await ann.messenger.sync()
  return { ann, ben, id }
}

/** Loses each answer to a renewal, although the service has issued the credential. */
function losingRenewals(): Transport {
  const { unary, stream } = messengers.transport
  return {
    stream,
    async unary(method, ...call) {
      const answer = await unary(method, ...call)
      if (method.name === "RenewCredential") throw new ConnectError("lost on its way back", Code.Unavailable)
      return answer
    },
  }
}

async function contextOf(
  { person, store, box }: OpenedMessenger,
  over: Partial<Pick<OpenedMessenger, "store">> & { transport?: Transport } = {},
) {
  return (await openContext(...messengers.optionsFor(person, { store, box, clock, ...over }))).context
}

/** Another device of Ann revokes her device, and she signs in on it again. */
async function revoked(ann: OpenedMessenger): Promise<OpenedMessenger> {
  const other = await messengers.open(await ann.person.again(), { clock })
  await other.messenger.revokeDevice(ann.messenger.deviceId)
  await other.messenger.revokeDevice(other.messenger.deviceId)
  return backAgain(ann)
}

/** The operations that fail: `few` in the short form, all otherwise. */
const stepsOf = (count: number, few: readonly number[]) =>
  effort(few, [...Array(count).keys()], [...Array(count).keys()])

/** The key packages that the service can hand out: those uploaded since the last retirement. */
function watchingKeyPackages() {
  const { unary, stream } = messengers.transport
  let given: Uint8Array[] = []
  const transport: Transport = {
    stream,
    async unary(method, ...call) {
      const answer = await unary(method, ...call)
      if (method.name === "RetireKeyPackages") given = []
      if (method.name === "UploadKeyPackages") {
        given.push(...(call[3] as UploadKeyPackagesRequest).packages.map(({ keyPackage }) => keyPackage))
      }
      return answer
    },
  }
  return { transport, given: () => given }
}

test.runIf(isLong)("a backup from before a renewal is the same device after its user signs in again", async () => {
  const { ann, ben, id } = await talk("restores", here)
  const backup = await copyOf(ann.store)
  await renewCredential(await contextOf(ann))
  const restored = await backAgain({ ...ann, store: backup })
  await restored.messenger.sync()
  expect(restored.messenger.deviceId).toBe(ann.messenger.deviceId)
  expect((await contextOf(restored)).device.identity().signatureKey).not.toEqual(
    (await contextOf(ann)).device.identity().signatureKey,
  )
  await ben.messenger.sync()
  await restored.messenger.sync()
  await restored.messenger.send(id, utf8("after"))
  await ben.messenger.sync()
  expect((await textsIn(ben, id)).at(-1)).toBe("after")
})

test.runIf(isLong)("a device that has ended gets an error, and a new one replaces it with its timeline", async () => {
  const { ann, ben, id } = await talk("has ended", here)
  const ended = await revoked(ann)
  await expect(ended.messenger.sync()).rejects.toMatchObject({ name: "MessagingError", reason: "DEVICE_ENDED" })
  await expect(ended.messenger.send(id, utf8("as if nothing was"))).rejects.toMatchObject({ reason: "QUEUED" })
  expect(await textsIn(ended, id)).toEqual(["before"])
  const keysOf = async () => (await ended.store.list(deviceSpace, "keyPackage")).map(({ key }) => key)
  const before = new Set(await keysOf())
  expect(before.size).toBeGreaterThan(0)
  await ended.messenger.startAnew()
  expect(ended.messenger.deviceId).not.toBe(ann.messenger.deviceId)
  // The private keys of the ended device's key packages open welcomes until they are deleted.
  expect((await keysOf()).filter((key) => before.has(key))).toEqual([])
  expect((await ended.messenger.conversation(id))?.status).toBe("waiting")
  await ended.messenger.sync()
  await ben.messenger.sync()
  await ben.messenger.addMembers(id, [ann.person.userId])
  await ended.messenger.sync()
  await ended.messenger.send(id, utf8("after"))
  await ben.messenger.sync()
  expect((await textsIn(ben, id)).at(-1)).toBe("after")
  // Also in a new process.
  const again = await messengers.open(ended.person, { ...ended, clock })
  expect(again.messenger.deviceId).toBe(ended.messenger.deviceId)
  const texts = await textsIn(again, id)
  expect([texts[0], texts.at(-1)]).toEqual(["before", "after"])
})

test.runIf(isLong)("a device that has not ended is not replaced", async () => {
  const { ann, id } = await talk("stays", here)
  await ann.messenger.startAnew()
  expect(await textsIn(ann, id)).toEqual(["before"])
  const again = await messengers.open(ann.person, { ...ann, clock })
  expect(again.messenger.deviceId).toBe(ann.messenger.deviceId)
  expect((await again.messenger.conversation(id))?.status).toBe("active")
})

test.runIf(isLong)("a device that cannot ask whether it has ended is not replaced", async () => {
  const { ann, id } = await talk("cannot ask", here)
  const transport = watchedTransport(messengers.transport)
  const { messenger } = await messengers.open(ann.person, { ...ann, transport, clock })
  transport.losing = "RegisterDevice"
  await expect(messenger.startAnew()).rejects.toMatchObject({ code: Code.Unavailable })
  expect([messenger.deviceId, (await messenger.conversation(id))?.status]).toEqual([ann.messenger.deviceId, "active"])
  expect((await messenger.send(id, utf8("still here"))).state).toBe("sent")
})

test.runIf(isLong)("a replacement keeps what has ended, and opens no state that was changed", async () => {
  const ann = await newcomer("ann has several")
  const made: string[] = []
  for (let i = 0; i < 4; i++) made.push((await ann.messenger.createGroupConversation([here.person.userId])).id)
  const [left = "", removed = "", waiting = "", changed = ""] = made
  await here.messenger.sync()
  await here.messenger.removeMembers(removed, [ann.person.userId])
  await ann.messenger.sync()
  await ann.messenger.leave(left)
  await ann.messenger.rejoin(waiting)
  const statuses = async ({ messenger }: OpenedMessenger, ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await messenger.conversation(id))?.status))
  const before = ["leaving", "removed", "waiting", "active"]
  expect(await statuses(ann, [left, removed, waiting, changed])).toEqual(before)
  // Somebody with access to the disk has put the record of one conversation into another.
  const [row] = await ann.store.list(waiting, "conversation")
  if (row === undefined) throw new Error("no row")
  const { generation } = await ann.store.read(deviceSpace, [])
  const op = { op: "put", space: changed, table: "conversation", ...row } as const
  expect(await ann.store.transact(deviceSpace, generation, [op])).toBe("ok")
  const ended = await revoked(ann)
  await ended.messenger.startAnew()
  expect(await statuses(ended, [left, removed, waiting])).toEqual(["removed", "removed", "waiting"])
  await expect(ended.messenger.conversation(changed)).rejects.toMatchObject({ reason: "STATE_TAMPERED" })
})

test.runIf(isLong)("a replacement completes wherever its process ends", async () => {
  const { ann, ben, id } = await talk("gives way", here)
  const ended = await revoked(ann)
  const before = await copyOf(ended.store)
  const counting = faultyStore(ended.store)
  const opened = await messengers.open(ended.person, { ...ended, store: counting, clock })
  const first = counting.count
  await opened.messenger.startAnew()
  /** The operations before the decision: two reads of the record and one write. */
  const decided = 3
  for (const at of stepsOf(counting.count - first, [7])) {
    const store = await copyOf(before)
    const faulty = faultyStore(store, { at: first + at, when: at % 2 === 0 ? "before" : "after", ends: true })
    const dying = await messengers.open(ended.person, { ...ended, store: faulty, clock })
    await expect(dying.messenger.startAnew()).rejects.toBeInstanceOf(StoreFault)
    const next = await messengers.open(ended.person, { ...ended, store, clock })
    // A replacement that stopped before the decision is requested again.
    await next.messenger.sync().catch(async (error: unknown) => {
      if (!isMessagingError(error, "DEVICE_ENDED")) throw error
      expect(at).toBeLessThan(decided)
      await next.messenger.startAnew()
    })
    expect(next.messenger.deviceId).not.toBe(ann.messenger.deviceId)
    expect((await next.messenger.conversation(id))?.status).toBe("waiting")
    expect(await textsIn(next, id)).toEqual(["before"])
    await next.messenger.sync()
    await ben.messenger.sync()
    await ben.messenger.addMembers(id, [ann.person.userId])
    await next.messenger.sync()
    expect((await next.messenger.conversation(id))?.status).toBe("active")
  }
})

test.runIf(isLong)("after a renewal that stops anywhere nobody can add the device with its former key", async () => {
  const other = await newcomer("ann counts")
  const counting = faultyStore(other.store)
  const counted = await contextOf(other, { store: counting })
  const first = counting.count
  await renewCredential(counted)
  const { transport, given } = watchingKeyPackages()
  const ann = await messengers.newcomer("ann stops", { clock, transport })
  for (const at of stepsOf(counting.count - first, [5])) {
    const fault = { at: first + at, when: at % 2 === 0 ? "before" : "after", ends: true } as const
    const dying = await contextOf(ann, { store: faultyStore(ann.store, fault), transport })
    await expect(renewCredential(dying)).rejects.toThrow(StoreFault)
    const next = await messengers.open(ann.person, { ...ann, transport, clock })
    await next.messenger.sync()
    const { device, engine } = await contextOf(ann, { transport })
    const keys = await Promise.all(given().map(async (one) => hex((await engine.inspectKeyPackage(one)).signatureKey)))
    expect(new Set(keys), `stopped at ${at}`).toEqual(new Set([hex(device.identity().signatureKey)]))
  }
})

// From here on years have passed.

test.runIf(isLong)(
  "a device that returns after 500 days and a new sign-in is the same device, and continues",
  async () => {
    const { ann, ben, id } = await talk("is away", await newcomer("ben is away"))
    await pass(500)
    const benAgain = await backAgain(ben)
    await benAgain.messenger.sync()
    const annAgain = await backAgain(ann)
    await annAgain.messenger.sync()
    expect(annAgain.messenger.deviceId).toBe(ann.messenger.deviceId)
    await annAgain.messenger.send(id, utf8("after"))
    await benAgain.messenger.sync()
    expect(await textsIn(benAgain, id)).toEqual(["before", "after"])
    // Both replace their expired keys, although no member has a valid one.
    await annAgain.messenger.refreshKeys(id)
    await benAgain.messenger.refreshKeys(id)
    await annAgain.messenger.sync()
    await annAgain.messenger.send(id, utf8("with new keys"))
    await benAgain.messenger.sync()
    expect(await textsIn(benAgain, id)).toEqual(["before", "after", "with new keys"])
    expect(await textsIn(annAgain, id)).toEqual(["before", "after", "with new keys"])
  },
)

test.runIf(isLong)(
  "a device that missed a renewal, and returns after the renewed key expired too, is the same device",
  async () => {
    const { ann, ben, id } = await talk("never heard", await newcomer("ben never heard"))
    await expect(renewCredential(await contextOf(ann, { transport: losingRenewals() }))).rejects.toThrow("lost")
    await pass(500)
    const annAgain = await backAgain(ann)
    await annAgain.messenger.sync()
    expect(annAgain.messenger.deviceId).toBe(ann.messenger.deviceId)
    await annAgain.messenger.send(id, utf8("after"))
    const benAgain = await backAgain(ben)
    await benAgain.messenger.sync()
    expect(await textsIn(benAgain, id)).toEqual(["before", "after"])
  },
)

test.runIf(isLong)("a backup whose keys have expired gets an error", async () => {
  const ann = await newcomer("ann restores late")
  const backup = await copyOf(ann.store)
  await renewCredential(await contextOf(ann))
  await pass(500)
  const restored = await backAgain({ ...ann, store: backup })
  await expect(restored.messenger.sync()).rejects.toMatchObject({ name: "MessagingError", reason: "DEVICE_ENDED" })
})
