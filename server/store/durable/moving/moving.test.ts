// Moves one place from tables to objects and back, and compares it record by record.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { idOf } from "@signet/kernel/ids"
import type { PlaceMoves, StoredRecord, TransferStep } from "@signet/kernel/messaging/moving"
import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { Place } from "@signet/kernel/messaging/records"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { effort, isLong } from "../../../../test/support/effort.ts"
import { fillPlace, tenantAt } from "../../../../test/support/messaging-store/full-place.ts"
import { attemptsOn, held, newAttachment } from "../../../../test/support/messaging-store/moving.ts"
import { openTestStore, storyStore, type TestStore } from "../../../../test/support/postgres.ts"
import { newAudit, newMessage, nowMs, random, signReceipt } from "../../postgres/messaging/testing/world.ts"
import type { DurableEnv } from "../env.ts"
import { toText } from "../plain.ts"
import { createDurableStore } from "../store.ts"
import { type StartedObjects, startObjects } from "../testing/start.ts"
import { durableMoving } from "./moving.ts"
import type { Residence } from "./residence.ts"

const isShort = effort(true, false, false)

let objects: StartedObjects
let postgres: TestStore
let store: MessagingStore
let moving: PlaceMoves
beforeAll(async () => {
  ;[objects, postgres] = await Promise.all([startObjects(), openTestStore(storyStore)])
  store = createDurableStore(objects.env)
  moving = durableMoving(objects.env, { nowMs: () => Date.now() })
})
afterAll(async () => {
  await objects?.close()
  await postgres?.close()
})

const newPlace = () => tenantAt(idOf("ten", random(16)))
const step = (on: PlaceMoves, place: Place, transferId: Uint8Array, name: Exclude<TransferStep, "ERASE">) =>
  on.step({ place, transferId, step: name, nowMs, audit: newAudit("messaging_place.changed") })

async function exported(on: PlaceMoves, place: Place, transferId: Uint8Array, maxBytes = 1 << 20) {
  const pages: (readonly StoredRecord[])[] = []
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: Awaited<ReturnType<PlaceMoves["exportPage"]>> = await on.exportPage({
      place,
      transferId,
      cursor,
      maxBytes,
    })
    pages.push(page.records)
    cursor = page.next
  }
  return pages
}

/** Sorted, because the stores export in different orders. */
const sorted = (pages: readonly (readonly StoredRecord[])[]) =>
  pages
    .flat()
    .filter(({ is }) => is !== "proofNonce")
    .map((record) => JSON.stringify(record, printable))
    .toSorted()
function printable(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex")
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

async function move(from: PlaceMoves, to: PlaceMoves, place: Place, maxBytes = 1 << 20) {
  const transferId = random(16)
  expect((await step(from, place, transferId, "HOLD")).state).toBe("HELD")
  expect((await step(to, place, transferId, "RECEIVE")).state).toBe("RECEIVING")
  const pages = await exported(from, place, transferId, maxBytes)
  for (const records of pages) await to.importPage({ place, transferId, records })
  // Importing again is no error, in any pages.
  await to.importPage({ place, transferId, records: pages.flat() })
  expect(sorted(await exported(to, place, transferId))).toEqual(sorted(pages))
  await expect(step(from, place, transferId, "RELEASE")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
  expect((await step(from, place, transferId, "FINISH")).state).toBe("GIVEN")
  await expect(step(from, place, transferId, "ABORT")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
  expect((await step(to, place, transferId, "FINISH")).state).toBe("OPEN")
  await expect(step(from, place, transferId, "ABORT")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
  expect((await step(from, place, transferId, "RELEASE")).state).toBe("MOVED")
  return { transferId, pages }
}

async function erased(on: PlaceMoves, place: Place, transferId: Uint8Array) {
  let bytesDeleted: Awaited<ReturnType<PlaceMoves["erase"]>> = []
  while (!(await on.status(place)).isEmpty || bytesDeleted.length > 0) {
    const ids = bytesDeleted.map(({ id }) => id)
    bytesDeleted = await on.erase({ place, transferId, bytesDeleted: ids, audit: newAudit("messaging_place.changed") })
  }
}

test.skipIf(isShort)(
  "a place moves from tables to objects and back, and messaging continues in both",
  async () => {
    const place = newPlace()
    const full = await fillPlace(postgres.messaging, place)
    const there = await move(postgres.moving, moving, place)
    await erased(postgres.moving, place, there.transferId)

    const again = await store.conversations.append(full.said, signReceipt, nowMs + 9, [])
    expect(again).toMatchObject({ is: "replayed", answer: { seq: 2n } })
    const next = await store.conversations.append(newMessage(full.group, full.bea), signReceipt, nowMs + 9, [])
    expect(next).toMatchObject({ is: "appended", answer: { seq: 4n } })
    const of = { deviceId: full.ana.id, userId: full.ana.userId, place }
    const listed = await store.conversations.list(of, { size: 10, before: null })
    expect(listed.map(({ conversation }) => conversation.id).toSorted()).toEqual(
      [full.group.id, full.pair.id].toSorted(),
    )
    expect((await store.devices.find(full.ana.id))?.leafKey).toEqual(full.ana.leafKey)
    expect((await store.devices.findByKey(full.ana.leafKey))?.id).toBe(full.ana.id)
    const claimed = await store.keyPackages.claim(full.claim, nowMs, newAudit("key_package.claimed"))
    expect(claimed.is === "claimed" && claimed.claim.packages.length).toBe(2)
    expect(await store.proofNonces.use(full.ana.id, full.nonce, Date.now() + 1_000)).toBe(false)
    expect(await store.welcomes.wereUsed(full.group.id, [random()])).toBe(false)
    const created = await store.conversations.create(
      full.pair,
      { deviceId: full.ana.id, idempotencyKey: random(16), requestHash: random() },
      newAudit("conversation.created"),
    )
    expect(created).toMatchObject({ is: "there", conversation: { id: full.pair.id } })
    expect(await store.archives.ofUser(full.bea.userId, place)).toEqual([full.backup])

    const back = await move(moving, postgres.moving, place, 2_000)
    await erased(moving, place, back.transferId)
    expect(await store.conversations.find(full.group.id)).toBeUndefined()
    await expect(store.devices.find(full.ana.id, place)).rejects.toMatchObject(held)
    const last = await postgres.messaging.conversations.append(
      newMessage(full.group, full.ana),
      signReceipt,
      nowMs + 10,
      [],
    )
    expect(last).toMatchObject({ is: "appended", answer: { seq: 5n } })
    // And back to the first store.
    await move(postgres.moving, moving, place)
  },
  60_000,
)

test.runIf(isLong)(
  "objects of a held place refuse every write, answer every read, and record no attendance",
  async () => {
    const place = newPlace()
    const full = await fillPlace(store, place)
    const transferId = random(16)
    await step(moving, place, transferId, "HOLD")
    const before = await exported(moving, place, transferId)
    for (const [name, { isWrite, run }] of attemptsOn(store, full)) {
      if (isWrite) await expect(run(), name).rejects.toMatchObject(held)
      else
        await expect(
          run().then(() => "answered"),
          name,
        ).resolves.toBe("answered")
    }
    expect(sorted(await exported(moving, place, transferId))).toEqual(sorted(before))
    for (const _ of [1, 2]) {
      expect(await step(moving, place, transferId, "ABORT")).toMatchObject({ state: "OPEN", transferId: null })
    }
    await expect(step(moving, place, transferId, "FINISH")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    const sent = await store.conversations.append(newMessage(full.group, full.ana), signReceipt, nowMs + 9, [])
    expect(sent.is).toBe("appended")
  },
)

test.skipIf(isShort)(
  "a write during a hold completes before it or is refused, so the export is complete",
  async () => {
    const place = newPlace()
    const { ana, bea, group } = await fillPlace(store, place)
    let isOver = false
    let refused = 0
    const wasRefused = Promise.withResolvers<void>()
    const writers = Array.from({ length: 6 }, async (_, i) => {
      const by = i % 2 === 0 ? ana : bea
      while (!isOver) {
        const work =
          i < 5
            ? store.conversations.append(newMessage(group, by), signReceipt, nowMs + 9, [])
            : store.attachments.create(newAttachment(group.id, by))
        await work.catch((error: unknown) => {
          expect(error).toMatchObject(held)
          // As many as there are writers.
          if (++refused === 6) wasRefused.resolve()
        })
      }
    })
    const transferId = random(16)
    await step(moving, place, transferId, "HOLD")
    const before = await exported(moving, place, transferId)
    await wasRefused.promise
    isOver = true
    await Promise.all(writers)
    expect(refused).toBeGreaterThan(0)
    expect(sorted(await exported(moving, place, transferId))).toEqual(sorted(before))
  },
  60_000,
)

test.runIf(isLong)("a notice of a hold that arrives after its abort changes no object", async () => {
  const place = newPlace()
  const full = await fillPlace(store, place)
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { CONVERSATIONS } = objects.env
  const late: DurableEnv["CONVERSATIONS"] = {
    getByName: (name) =>
      new Proxy(CONVERSATIONS.getByName(name), {
        get: (object, method) =>
          method === "setPlace"
            ? async (residence: Residence) => {
                reached.resolve()
                await released.promise
                return object.setPlace(residence)
              }
            : Reflect.get(object, method),
      }),
  }
  const slow = durableMoving({ ...objects.env, CONVERSATIONS: late }, { nowMs: () => Date.now() })
  const transferId = random(16)
  const hold = step(slow, place, transferId, "HOLD")
  await reached.promise
  expect(await step(moving, place, transferId, "ABORT")).toMatchObject({ state: "OPEN", transferId: null })
  released.resolve()
  expect(await hold).toMatchObject({ state: "OPEN" })
  const sent = await store.conversations.append(newMessage(full.group, full.ana), signReceipt, nowMs + 9, [])
  expect(sent.is).toBe("appended")
  // A later hold reaches them all.
  await step(moving, place, random(16), "HOLD")
  const again = store.conversations.append(newMessage(full.group, full.ana), signReceipt, nowMs + 9, [])
  await expect(again).rejects.toMatchObject(held)
})

test.skipIf(isShort)(
  "another place is unchanged",
  async () => {
    const [place, victims] = [newPlace(), newPlace()]
    await fillPlace(postgres.messaging, place)
    const victim = await fillPlace(store, victims)
    const transferId = random(16)
    await expect(step(moving, victims, transferId, "RECEIVE")).rejects.toMatchObject({ reason: "STATE_CONFLICT" })
    await step(postgres.moving, place, transferId, "HOLD")
    await step(moving, place, transferId, "RECEIVE")
    const records = (await exported(postgres.moving, place, transferId)).flat()
    const forged = records.flatMap((record): StoredRecord[] => {
      switch (record.is) {
        case "device":
          return [{ ...record, device: { ...record.device, id: victim.ana.id } }]
        case "keyPackage":
          return [{ ...record, keyPackage: { ...record.keyPackage, deviceId: victim.ana.id } }]
        case "conversation":
          return [{ ...record, conversation: { ...record.conversation, id: victim.group.id } }]
        case "envelope":
        case "leaf":
        case "treeChunk":
        case "groupInfo":
        case "cursor":
          return [{ ...record, conversationId: victim.group.id }]
        default:
          return []
      }
    })
    expect(forged.length).toBeGreaterThan(8)
    for (const record of forged) {
      await expect(moving.importPage({ place, transferId, records: [record] }), record.is).rejects.toMatchObject({
        reason: "INVALID_FIELD",
      })
    }
  },
  60_000,
)

describe.skipIf(isShort)("an administrator who moves their own place", () => {
  /** A place that receives records naming the victim's objects, and is then moved away and erased. */
  async function reaching(records: readonly StoredRecord[]) {
    const place = newPlace()
    const transferId = random(16)
    await step(moving, place, transferId, "RECEIVE")
    for (const record of records) {
      const imported = moving.importPage({ place, transferId, records: [record] })
      await expect(imported, record.is).rejects.toMatchObject({ reason: "INVALID_FIELD" })
    }
    await step(moving, place, transferId, "FINISH")
    const next = random(16)
    await step(moving, place, next, "HOLD")
    const told = (await exported(moving, place, next)).flat()
    await step(moving, place, next, "FINISH")
    await step(moving, place, next, "RELEASE")
    await erased(moving, place, next)
    return told
  }

  test("holds, reads and erases nothing of another place, whatever the import named", async () => {
    const victims = newPlace()
    const victim = await fillPlace(store, victims)
    const transferId = random(16)
    await step(moving, victims, transferId, "HOLD")
    const before = (await exported(moving, victims, transferId)).flat()
    await step(moving, victims, transferId, "ABORT")
    const device = { ...victim.ana, userId: idOf("prn", random(16)), leafKey: random() }
    const told = await reaching([
      { is: "device", device, leafKeys: [device.leafKey], isRevocationDue: false },
      ...before.filter(({ is }) => is === "conversation" || is === "attachment" || is === "groupKey" || is === "claim"),
    ])
    expect(told).toEqual([])
    await step(moving, victims, transferId, "HOLD")
    expect(sorted([(await exported(moving, victims, transferId)).flat()])).toEqual(sorted([before]))
    await step(moving, victims, transferId, "ABORT")
  })

  test("reads no other place's conversation through a forged cursor", async () => {
    const [place, victims] = [newPlace(), newPlace()]
    const { group } = await fillPlace(store, victims)
    const transferId = random(16)
    await step(moving, place, transferId, "HOLD")
    const cursor = toText({ phase: "conversations", of: group.id, device: 0, from: null })
    const asked = { place, transferId, cursor: Buffer.from(cursor).toString("base64url"), maxBytes: 1 << 20 }
    expect(await moving.exportPage(asked)).toEqual({ records: [], next: null })
  })
})

test.runIf(isLong)("attachments are found in their own place only", async () => {
  const victims = newPlace()
  const { whole, begunFile } = await fillPlace(store, victims)
  const ids = [whole.id, begunFile.id]
  const foundIn = async (place: Place) => (await moving.attachmentsOf(place, ids)).map(({ id }) => id)
  expect((await foundIn(victims)).toSorted()).toEqual(ids.toSorted())
  const others = [newPlace(), tenantAt(null), { ...victims, appId: idOf("app", random(16)) }]
  for (const place of others) expect(await foundIn(place)).toEqual([])
})

test.runIf(isLong)("a place is not erased while its objects have undelivered audit events", async () => {
  const place = newPlace()
  const { group, ana, whole, begunFile } = await fillPlace(store, place)
  onTestFinished(async () => void (await objects.world({ faults: 0 })))
  await objects.world({ faults: 1_000_000 })
  const event = newAudit("messaging_place.changed")
  await store.conversations.append(newMessage(group, ana), signReceipt, nowMs + 9, [event])
  const transferId = random(16)
  for (const name of ["HOLD", "FINISH", "RELEASE"] as const) await step(moving, place, transferId, name)
  const bytesDeleted = [whole.id, begunFile.id]
  const erasing = { place, transferId, bytesDeleted, audit: newAudit("messaging_place.changed") }
  await expect(moving.erase(erasing)).rejects.toMatchObject({ reason: "UNAVAILABLE" })
  await expect(moving.erase({ ...erasing, bytesDeleted: [] })).rejects.toMatchObject({ reason: "UNAVAILABLE" })
  expect((await moving.status(place)).isEmpty).toBe(false)
  await objects.world({ faults: 0 })
  await erased(moving, place, transferId)
  const told = (await objects.world()).audit.filter(({ id }) => id === event.id)
  expect(told).toEqual([event])
})

test("every table of an object is exported, or excluded with a reason", () => {
  const folder = join(import.meta.dirname, "..")
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".ts") && !/\.test\.ts$|(^|\/)(testing|counter)\//.test(path),
  )
  const tables = sources.flatMap((path) =>
    [...readFileSync(join(folder, path), "utf8").matchAll(/create table (?:if not exists )?(\w+)/g)].map(
      ([, name]) => name,
    ),
  )
  const page = readFileSync(join(folder, "../../../docs/decisions/0023-moving-a-tenant.md"), "utf8")
  const [, list = ""] = /in tables of their own:\n([\s\S]*?)\n\nNot messaging's/.exec(page) ?? []
  const said = [...list.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  expect(said.toSorted()).toEqual([...new Set(tables)].toSorted())
})
