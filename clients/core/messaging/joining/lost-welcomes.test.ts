import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { KeyPackageRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { SubscribeResponse_WelcomeAvailableSchema as WelcomeAvailableSchema } from "@signet/proto/messaging/v1/conversation_service"
import {
  Conversation_Status,
  ConversationSchema,
  DirectiveKind,
  WelcomeSchema,
} from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import type { Context } from "../context.ts"
import { hex } from "../crypto/bytes.ts"
import { idOf } from "../ids.ts"
import { deviceSpace } from "../store/store.ts"
import { follow } from "../sync/stream.ts"
import { type Scripted, scripted } from "../testing/scripted.ts"
import { askForLostWelcomes } from "./lost-welcomes.ts"

type Shown = MessageInitShape<typeof ConversationSchema>
const opened = new Uint8Array(32).fill(1)
const lost = new Uint8Array(32).fill(2)

/** A device that is a member by the service, with the welcomes that the service lists. */
async function member(
  welcomes: readonly Uint8Array[],
  before: (of: Scripted) => Promise<unknown> = async () => undefined,
  memberId = idOf("dev", world.phone),
) {
  const one = await scripted({ service: { listMessages: () => ({ headSeq: 4n }) } })
  await before(one)
  const { conversation } = one
  const { id, owner, device, rows, store } = conversation
  const place = { space: deviceSpace, table: "keyPackage", key: hex(opened) } as const
  await store.transact(deviceSpace, (await store.read(deviceSpace, [])).generation, [
    await rows.put(place, KeyPackageRecordSchema, { keyPackage: new Uint8Array(1) }),
  ])
  const called: string[] = []
  const listed = welcomes.map((keyPackageRef) =>
    create(WelcomeSchema, { id: "wel_1", conversationId: id, keyPackageRef }),
  )
  const stop = new Error("the inventory is not read in this test")
  const calls = {
    welcomes: { listWelcomes: async () => ({ welcomes: listed, nextPageToken: "" }) },
    conversations: {
      requestRejoin: async () => void called.push("requestRejoin"),
      async getConversation() {
        called.push("getConversation")
        const members = [{ deviceId: memberId }]
        return {
          conversation: create(ConversationSchema, { id, epoch: 1n, status: Conversation_Status.ACTIVE, members }),
        }
      },
    },
    keyPackages: {
      retireKeyPackages: async () => void called.push("retireKeyPackages"),
      getInventory: async () => Promise.reject(stop),
    },
  }
  const context = {
    ...conversation,
    calls: calls as unknown as Context["calls"],
    device: { ...device, mark: async () => undefined } as Context["device"],
  }
  const ask = async (fields: Shown = {}) => {
    const active = { id, epoch: 1n, status: Conversation_Status.ACTIVE }
    await askForLostWelcomes(context, [create(ConversationSchema, { ...active, ...fields })]).catch((error) => {
      if (error !== stop) throw error
    })
    return called.splice(0)
  }
  const hear = async () => {
    await follow(context, {
      case: "welcomeAvailable",
      value: create(WelcomeAvailableSchema, { conversationId: id }),
    }).catch((error) => {
      if (error !== stop) throw error
    })
    return called.splice(0)
  }
  return { ask, hear, userId: owner.userId, deviceId: device.id ?? "" }
}

test("a member without a group and without a welcome requests a rejoin, and keeps its key packages", async () => {
  expect(await (await member([])).ask()).toEqual(["requestRejoin"])
})

test("a member with a welcome that it can open requests nothing, also when it lists a used one, too", async () => {
  expect(await (await member([opened])).ask()).toEqual([])
  expect(await (await member([lost, opened])).ask()).toEqual([])
})

test("a welcome for a key package that this device has not replaces the key packages first", async () => {
  expect(await (await member([lost])).ask()).toEqual(["retireKeyPackages"])
})

test("a hint of a welcome for a key package that this device has not replaces the key packages at once", async () => {
  expect(await (await member([lost])).hear()).toEqual(["getConversation", "retireKeyPackages"])
  expect(await (await member([])).hear()).toEqual(["getConversation", "requestRejoin"])
})

test("a hint of a welcome requests nothing for a device that is active, or that the service does not count", async () => {
  const active = await member([lost], ({ write }) => write())
  expect(await active.hear()).toEqual([])
  expect(await (await member([lost], undefined, idOf("dev", world.id(0x68)))).hear()).toEqual(["getConversation"])
})

test.each<[string, Shown]>([
  ["has not begun", { epoch: 0n }],
  ["is closed", { status: Conversation_Status.CLOSED }],
])("a conversation that %s is left alone", async (_, fields) => {
  expect(await (await member([])).ask(fields)).toEqual([])
})

test("a device whose rejoin is requested, or that is to be removed, requests no other", async () => {
  const { ask, userId, deviceId } = await member([])
  const directive = (kind: DirectiveKind, of: string, user = userId) =>
    ({ $typeName: "signet.messaging.v1.Directive", kind, userId: user, deviceId: of }) as never
  expect(await ask({ directives: [directive(DirectiveKind.REJOIN, deviceId)] })).toEqual([])
  expect(await ask({ directives: [directive(DirectiveKind.LEAVE, "")] })).toEqual([])
  expect(await ask({ directives: [directive(DirectiveKind.REJOIN, "")] })).toEqual(["requestRejoin"])
  expect(await ask({ directives: [directive(DirectiveKind.LEAVE, "dev_other")] })).toEqual(["requestRejoin"])
  expect(await ask({ directives: [directive(DirectiveKind.LEAVE, deviceId, "prn_other")] })).toEqual(["requestRejoin"])
})

test.each<[Status, boolean]>([
  [Status.WAITING, true],
  [Status.STRANDED, true],
  [Status.REMOVED, true],
  [Status.CREATING, true],
  [Status.ACTIVE, false],
  [Status.LEAVING, false],
])("in status %s a device requests a rejoin: %s", async (status, isAsked) => {
  const { ask } = await member([], ({ write }) => write({ status }))
  expect(await ask()).toEqual(isAsked ? ["requestRejoin"] : [])
})

test("a device has a conversation that it has stored or opened, and no other", async () => {
  const { conversation, write } = await scripted()
  const other = `${conversation.id.slice(0, -1)}z`
  await write()
  expect(await Promise.all([conversation.id, other, "no id"].map(conversation.has))).toEqual([true, false, false])
  const unused = idOf("cnv", new Uint8Array(16).fill(7))
  expect(await conversation.has(unused)).toBe(false)
  conversation.conversation(unused)
  expect(await conversation.has(unused)).toBe(true)
})
