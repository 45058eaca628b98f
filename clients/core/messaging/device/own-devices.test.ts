// A device's credential names its user: devices that the service attributes to another user are not added.
import { create } from "@bufbuild/protobuf"
import { createRouterTransport } from "@connectrpc/connect"
import { issueDeviceCredential } from "@signet/canonical/device-credential"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { ConversationRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import { Device_Status } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeCalls } from "../calls.ts"
import type { Context } from "../context.ts"
import type { MessengerEvent } from "../events.ts"
import { idOf } from "../ids.ts"
import { openConversationState } from "../state/conversation-state.ts"
import { type LocalGroup, treeHashOf } from "../state/stored-conversation.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "../testing/signed-group.ts"
import { testBox } from "../testing/test-box.ts"
import { addOwnDevices } from "./own-devices.ts"

const { alice, appId, tenantId, id, now, credentialFields, credentialKey } = world
const own = await signedIdentity()
const group = await engine.createGroup({ groupId: world.mlsGroupId, identity: own, ...lifetime })
const conversationId = idOf("cnv", world.conversationId)
const tablet = id(0x68)
const tabletOf = (change: object = {}, by = credentialKey) =>
  issueDeviceCredential({ ...credentialFields, deviceId: tablet, ...change }, by)

interface Shown {
  readonly credential: Uint8Array
  readonly deviceId?: Uint8Array
  readonly status?: Device_Status
  /** The status of the conversation. */
  readonly in?: Status
}

/** Shows the messenger a device that the service attributes to its user. @returns The stored requests. */
async function shown({ credential, deviceId = tablet, status = Device_Status.ACTIVE, in: is = Status.ACTIVE }: Shown) {
  const [box, scope, events] = [testBox(), { app: "app", user: "user" }, [] as MessengerEvent[]]
  await box.createKey(scope)
  const transport = createRouterTransport(({ service }) => {
    service(DeviceService, { listDevices: () => ({ devices: [{ id: idOf("dev", deviceId), credential, status }] }) })
  })
  const clock = { nowMs: () => Number(now) * 1_000, after: () => () => undefined }
  const random = { bytes: (length: number) => new Uint8Array(length) }
  const session = { accessToken: async () => "", renewToken: async () => "" }
  const owner = { appId: idOf("app", appId), tenantId: idOf("ten", tenantId), userId: idOf("prn", alice) }
  const needed = {
    ...{ engine, clock, random, store: openMemoryStore(), rows: sealedRows(box, scope), verify: verifyEd25519 },
    calls: makeCalls({ transport, session, device: () => undefined, clock, random }),
    owner: { ...owner, app: appId, tenant: tenantId, user: alice },
    issuer: { keys: () => world.issuerKeys, refresh: async () => world.issuerKeys },
    device: { id: idOf("dev", world.phone), marks: { bindsRecords: true } },
    emit: (event: MessengerEvent) => events.push(event),
    // The request is stored before the turn, and carried out in it.
    conversation: (name: string) => ({
      ...context,
      ...openConversationState(context, name),
      id: name,
      inTurn: async () => undefined,
    }),
  }
  // Only the fields that this test needs.
  const context = needed as unknown as Context
  const local: LocalGroup = {
    ...{ group, processedSeq: 4n, receipt: "first", leafRenewedAt: Number(now) },
    ...{ identityKey: own.signatureKey, treeHash: treeHashOf({ group }) },
  }
  const record = create(ConversationRecordSchema, { status: is })
  const next = { record, local, staged: undefined }
  await openConversationState(context, conversationId).change(async () => ({ next, result: undefined }))
  const areAllIn = await addOwnDevices(context)
  const failures = events.flatMap((event) => (event.is === "failed" ? [Object(event.error).reason] : []))
  return { areAllIn, failures, asked: (await context.conversation(conversationId).stored()).record?.due.length }
}

test("an own device that is no member is added where this device is a member", async () => {
  expect(await shown({ credential: await tabletOf() })).toEqual({ areAllIn: false, failures: [], asked: 1 })
  const nothing = { areAllIn: true, failures: [], asked: 0 }
  expect(await shown({ credential: own.credential, deviceId: world.phone })).toEqual(nothing)
  expect(await shown({ credential: await tabletOf(), status: Device_Status.REVOKED })).toEqual(nothing)
  expect(await shown({ credential: await tabletOf(), in: Status.WAITING })).toEqual(nothing)
  // An expired credential does not matter: its key package has a newer one.
  const ended = await tabletOf({ notBefore: now - 9n * world.day, notAfter: now })
  expect(await shown({ credential: ended })).toMatchObject({ asked: 1 })
})

test.each<[string, () => Promise<Shown>]>([
  ["another user's", async () => ({ credential: await tabletOf({ userId: world.bob }) })],
  ["another device", async () => ({ credential: await tabletOf({ deviceId: id(0x69) }) })],
  ["another tenant's", async () => ({ credential: await tabletOf({ tenantId: id(0x23) }) })],
  ["another app's", async () => ({ credential: await tabletOf({ appId: id(0x34) }) })],
  ["signed by a stranger", async () => ({ credential: await tabletOf({}, world.strangerKey) })],
  ["malformed", async () => ({ credential: new Uint8Array(3) })],
])("a device whose credential is %s is not added", async (_, of) => {
  expect(await shown(await of())).toEqual({ areAllIn: false, failures: ["ANSWER_REFUSED"], asked: 0 })
})
