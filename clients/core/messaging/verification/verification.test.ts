// A list that another reader of this device stored meanwhile is newer than the one that was just read.

import { create } from "@bufbuild/protobuf"
import { createRouterTransport } from "@connectrpc/connect"
import { issueDeviceList } from "@signet/canonical/device-list"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { hash } from "@signet/canonical/hash"
import { type VerificationRecord, VerificationRecordSchema } from "@signet/proto/client/v1/records"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeCalls } from "../calls.ts"
import type { Context } from "../context.ts"
import type { MessengerEvent } from "../events.ts"
import { idOf } from "../ids.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { testBox } from "../testing/test-box.ts"
import { changePeer, readPeer } from "./peer-rows.ts"
import { look, verification } from "./verification.ts"

const { listFields, listKey, alice, bob, appId, tenantId, bytes32, now, credentialBytes } = world
const [own, theirs] = [idOf("prn", bob), idOf("prn", alice)]
const listOf = (userId: Uint8Array, change: object = {}) =>
  issueDeviceList({ ...listFields, userId, ...change }, listKey)
const third = await listOf(alice)
const fourth = await listOf(alice, { listVersion: 4n, previousHash: hash("device-list", third) })
const bobs = await listOf(bob, { entries: listFields.entries.slice(1) })

interface Happens {
  /** While the service answers with a list of the other user. */
  readonly whileAsked?: (context: Context) => Promise<void>
  /** While the conversations are searched for keys that were not compared. */
  readonly whileSearched?: (context: Context) => Promise<void>
}

async function device({ whileAsked, whileSearched }: Happens = {}, lists: readonly Uint8Array[] = [third, fourth]) {
  const [box, scope] = [testBox(), { app: "app", user: "user" }]
  await box.createKey(scope)
  const [store, events] = [openMemoryStore(), [] as MessengerEvent[]]
  const transport = createRouterTransport(({ service }) => {
    service(DeviceService, {
      async listDeviceLists({ userId, afterVersion, limit }) {
        if (userId === theirs) await whileAsked?.(context)
        const all = userId === theirs ? lists : [bobs]
        const after = all.filter((_, i) => BigInt(i) + 3n > afterVersion)
        return { newestVersion: 2n + BigInt(all.length), deviceLists: after.slice(0, limit) }
      },
      listDevices: () => ({ devices: [{ credential: credentialBytes }] }),
    })
  })
  const clock = { nowMs: () => Number(now) * 1_000, after: () => () => undefined }
  const session = { accessToken: async () => "", renewToken: async () => "" }
  const random = { bytes: (length: number) => new Uint8Array(length) }
  const needed = {
    calls: makeCalls({ transport, session, device: () => undefined, clock, random }),
    owner: { appId: "", tenantId: "", userId: own, app: appId, tenant: tenantId, user: bob },
    issuer: { keys: () => world.issuerKeys, refresh: async () => world.issuerKeys },
    verify: verifyEd25519,
    clock,
    random,
    rows: sealedRows(box, scope),
    store: {
      ...store,
      async spaces() {
        await whileSearched?.(context)
        return store.spaces()
      },
    },
    device: { id: idOf("dev", world.id(0x59)) },
    emit: (event: MessengerEvent) => events.push(event),
  }
  // The parts of a messenger that comparing keys needs, of a device that is in no conversation.
  const context = needed as unknown as Context
  return { context, events, stored: async () => (await readPeer(context, theirs)).record }
}

const set = (change: Partial<VerificationRecord>) => (context: Context) =>
  changePeer(context, theirs, (before) => create(VerificationRecordSchema, { ...before, ...change }))
const later = { listVersion: 9n, listHash: bytes32(0x99) }

test("a stored list version never goes back", async () => {
  const plain = await device()
  await look(plain.context, theirs)
  expect(await plain.stored()).toMatchObject({ listVersion: 4n, listHash: hash("device-list", fourth) })
  const raced = await device({ whileAsked: set(later) })
  await look(raced.context, theirs)
  expect(await raced.stored()).toMatchObject(later)
})

const compare = async ({ context }: { readonly context: Context }) => {
  const shown = await verification(context).of(theirs)
  return verification(context).markVerified(theirs, shown.safetyNumber)
}

test("keys that were compared are accepted, with spaces and line breaks in the number", async () => {
  const one = await device()
  expect(await compare(one)).toMatchObject({ status: "verified", comparedBy: "number", listFault: undefined })
  const { safetyNumber } = await verification(one.context).of(theirs)
  await verification(one.context).markVerified(theirs, safetyNumber.replaceAll(" ", "\n"))
  const other = safetyNumber.replaceAll(/[0-9]/g, "0")
  await expect(verification(one.context).markVerified(theirs, other)).rejects.toMatchObject({
    reason: "COMPARISON_FAILED",
  })
})

test.each<[string, Partial<VerificationRecord>]>([
  ["a later list was stored", later],
  ["a contradiction was found", { listFault: "DEVICE_LIST_FORK" }],
])("a comparison is refused where %s meanwhile", async (_, change) => {
  const raced = await device({ whileSearched: set(change) })
  await expect(compare(raced)).rejects.toMatchObject({ reason: "COMPARISON_FAILED" })
  expect(await raced.stored()).toMatchObject({ ...change, acceptedKeys: [] })
})

test("a list that goes back is refused and reported, and the user who was verified has changed", async () => {
  const one = await device()
  await compare(one)
  const older = await device({}, [third])
  const context: Context = { ...one.context, calls: older.context.calls }
  await expect(look(context, theirs)).rejects.toMatchObject({ reason: "DEVICE_LIST_REFUSED", message: "LIST_ROLLBACK" })
  expect(await verification(context).status(theirs)).toBe("changed")
  expect(one.events).toEqual([{ is: "keysChanged", userId: theirs, deviceIds: [], listFault: "LIST_ROLLBACK" }])
})

test("a user who was never compared stays unverified when a list goes back", async () => {
  const one = await device()
  await look(one.context, theirs)
  const older = await device({}, [third])
  const context: Context = { ...one.context, calls: older.context.calls }
  await expect(look(context, theirs)).rejects.toMatchObject({ reason: "DEVICE_LIST_REFUSED" })
  expect(await verification(context).status(theirs)).toBe("unverified")
})
