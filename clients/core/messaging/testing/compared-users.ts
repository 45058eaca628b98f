// A device of one user that verifies another user, with a service that returns signed lists.

import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { createRouterTransport } from "@connectrpc/connect"
import { issueDeviceList } from "@signet/canonical/device-list"
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { hash } from "@signet/canonical/hash"
import {
  ConversationRecordSchema,
  type VerificationRecord,
  VerificationRecordSchema,
} from "@signet/proto/client/v1/records"
import { DeviceService } from "@signet/proto/messaging/v1/device_service"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { makeCalls } from "../calls.ts"
import type { Context } from "../context.ts"
import type { MessengerEvent } from "../events.ts"
import { idOf } from "../ids.ts"
import type { Identity } from "../mls.ts"
import { type ConversationState, openConversationState } from "../state/conversation-state.ts"
import { type LocalGroup, treeHashOf } from "../state/stored-conversation.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { changePeer, readPeer } from "../verification/peer-rows.ts"
import { signedEngine as engine, signedLifetime as lifetime, signedIdentity } from "./signed-group.ts"
import { testBox } from "./test-box.ts"

const { listFields, listKey, alice, bob, appId, tenantId, bytes32, now, credentialBytes } = world
export const [own, theirs] = [idOf("prn", bob), idOf("prn", alice)]
export const listOf = (userId: Uint8Array, change: object = {}) =>
  issueDeviceList({ ...listFields, userId, ...change }, listKey)
export const third = await listOf(alice)
export const fourth = await listOf(alice, { listVersion: 4n, previousHash: hash("device-list", third) })
const bobs = await listOf(bob, { entries: listFields.entries.slice(1) })

/** A second list of version 4, with another predecessor. */
export const otherFourth = await listOf(alice, { listVersion: 4n, previousHash: bytes32(9) })
export const ofStranger = await issueDeviceList(
  { ...listFields, listVersion: 5n, previousHash: hash("device-list", fourth) },
  world.strangerKey,
)

interface Interruptions {
  /** Runs while the service answers with the other user's list. */
  readonly whileAsked?: (context: Context) => Promise<void>
  /** Runs while the conversations are searched for uncompared keys. */
  readonly whileSearched?: (context: Context) => Promise<void>
}

export async function device(
  { whileAsked, whileSearched }: Interruptions = {},
  lists: readonly Uint8Array[] = [third, fourth],
  credentials: readonly Uint8Array[] = [credentialBytes],
) {
  const [box, scope] = [testBox(), { app: "app", user: "user" }]
  await box.createKey(scope)
  const [store, events] = [openMemoryStore(), [] as MessengerEvent[]]
  const transport = createRouterTransport(({ service }) => {
    service(DeviceService, {
      async listDeviceLists({ userId, afterVersion, limit }) {
        if (userId === theirs) await whileAsked?.(context)
        const all = userId === theirs ? lists : [bobs]
        const after = all.filter((_, i) => BigInt(i) + 3n > afterVersion)
        return { newestVersion: all.length === 0 ? 0n : 2n + BigInt(all.length), deviceLists: after.slice(0, limit) }
      },
      listDevices: () => ({ devices: credentials.map((credential) => ({ credential })) }),
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
    engine,
    device: { id: idOf("dev", world.id(0x59)), marks: { bindsRecords: true } },
    emit: (event: MessengerEvent) => events.push(event),
    conversation: (id: string): ConversationState => openConversationState(context, id),
  }
  // Only the fields that a comparison needs.
  const context = needed as unknown as Context
  return { context, events, stored: async () => (await readPeer(context, theirs)).record }
}

/** Creates a conversation of this device with other members. */
export async function conversation(
  { context }: { readonly context: Context },
  record: MessageInitShape<typeof ConversationRecordSchema>,
  ...others: readonly Identity[]
): Promise<string> {
  const identity = await signedIdentity({ userId: bob, deviceId: world.id(0x59) })
  const groupId = bytes32(9)
  const first = await engine.createGroup({ groupId, identity, ...lifetime })
  const packages = await Promise.all(others.map((one) => engine.newKeyPackage(one, lifetime)))
  const added = packages.map(({ keyPackage }) => keyPackage)
  const group = others.length === 0 ? first : (await engine.add(first, added, { aad: new Uint8Array() })).next
  const id = idOf("cnv", world.conversationId)
  const local: LocalGroup = {
    ...{ group, processedSeq: 4n, receipt: "first", leafRenewedAt: Number(now) },
    ...{ identityKey: identity.signatureKey, treeHash: treeHashOf({ group }) },
  }
  const next = { record: create(ConversationRecordSchema, record), local, staged: undefined }
  await context.conversation(id).change(async () => ({ next, result: undefined }))
  return id
}

export const set = (change: Partial<VerificationRecord>) => (context: Context) =>
  changePeer(context, theirs, (before) => create(VerificationRecordSchema, { ...before, ...change }))
export const later = { listVersion: 9n, listHash: bytes32(0x99) }
