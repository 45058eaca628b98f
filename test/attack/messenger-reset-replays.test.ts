// A hostile service with its receipt key moves or replays a welcome. A device must not return to a group or position that
// it has left: it would use message keys a second time, or read under keys that removed members know.
import { isMessage, type Message } from "@bufbuild/protobuf"
import type { Transport } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import { type ConversationId, newId } from "@signet/kernel/ids"
import {
  type GetGroupInfoResponse,
  GetGroupInfoResponseSchema,
  type GetTreeResponse,
  GetTreeResponseSchema,
  ListConversationsResponseSchema,
  ListMessagesResponseSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { type Envelope, Envelope_Kind, type Welcome } from "@signet/proto/messaging/v1/records"
import { ListWelcomesResponseSchema } from "@signet/proto/messaging/v1/welcome_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { stateTag } from "../../clients/core/messaging/mls.ts"
import { openContext } from "../../clients/core/messaging/open.ts"
import { isLong } from "../support/effort.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { randomBytes } from "../support/messaging/device-parts.ts"
import { type Messengers, messengersOn } from "../support/messaging/messengers.ts"
import type { Room } from "../support/messaging/room.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server, { keyPackages: 1 })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** The answers that a device got when it joined. */
interface Join {
  readonly welcome: Welcome
  readonly info: GetGroupInfoResponse
  readonly tree: GetTreeResponse
  readonly commit: Envelope
}

/** Records how a device joins a conversation, and replays such a join. */
interface ReplayingTransport extends Transport {
  joined(conversationId: string): Join
  replay: Join | undefined
}

function replayingTransport(transport: Transport): ReplayingTransport {
  const answers: { readonly of: string; readonly message: Message }[] = []
  const replaying: ReplayingTransport = {
    replay: undefined,
    joined(conversationId) {
      const of = answers.filter((answer) => answer.of === conversationId).map(({ message }) => message)
      const welcome = answers
        .flatMap(({ message }) => (isMessage(message, ListWelcomesResponseSchema) ? message.welcomes : []))
        .find((one) => one.conversationId === conversationId)
      const commit = of
        .flatMap((message) => (isMessage(message, ListMessagesResponseSchema) ? message.envelopes : []))
        .find(({ kind, seq }) => kind === Envelope_Kind.COMMIT && seq === welcome?.commitSeq)
      const info = of.find((message) => isMessage(message, GetGroupInfoResponseSchema))
      const tree = of.find((message) => isMessage(message, GetTreeResponseSchema))
      if (!welcome || !commit || !info || !tree) throw new Error("the device did not join")
      return { welcome, commit, info, tree }
    },
    async unary(method, signal, timeoutMs, header, input, values) {
      const answer = await transport.unary(method, signal, timeoutMs, header, input, values)
      const { replay } = replaying
      if (replay !== undefined)
        return { ...answer, message: Object.assign({}, answer.message, lieOf(replay, answer.message)) }
      const of = "conversationId" in input ? String(input.conversationId) : ""
      answers.push({ of, message: structuredClone(answer.message) })
      return answer
    },
    stream: (...call) => transport.stream(...call),
  }
  return replaying
}

function lieOf({ welcome, info, tree, commit }: Join, message: Message): object {
  const headSeq = commit.seq
  if (isMessage(message, GetGroupInfoResponseSchema)) return info
  if (isMessage(message, GetTreeResponseSchema)) return tree
  if (isMessage(message, ListWelcomesResponseSchema)) return { welcomes: [welcome] }
  if (isMessage(message, ListMessagesResponseSchema)) return { envelopes: [commit], headSeq }
  if (!isMessage(message, ListConversationsResponseSchema)) return {}
  const shown = { headSeq, epoch: welcome.epoch, receiptHead: new Uint8Array(), directives: [] }
  return { conversations: message.conversations.map((one) => ({ ...one, ...shown })) }
}

/** Returns the same join with another welcome id and log position, and a receipt for it. */
function movedTo(seq: bigint, { welcome, info, tree, commit }: Join, { id, state }: Pick<Room, "id" | "state">): Join {
  const { acceptedAt } = commit
  if (acceptedAt === undefined) throw new Error("a commit without its time")
  const { bytes: receipt } = server.messaging.deps.signReceipt({
    conversationId: id as ConversationId,
    mlsGroupId: state.groupId,
    epoch: welcome.epoch - 1n,
    seq,
    commitHash: hash("commit", commit.message),
    proofHash: hash("membership-proof", welcome.proof),
    groupInfoHash: hash("group-info", info.groupInfo),
    treeBlobHash: null,
    previousReceiptHash: null,
    acceptedAtMs: Number(acceptedAt.seconds) * 1_000 + acceptedAt.nanos / 1_000_000,
    resultingStateTag: stateTag(state),
  })
  const other = newId("wel", Date.now(), randomBytes(10))
  return {
    welcome: { ...welcome, id: other, commitSeq: seq, receipt },
    commit: { ...commit, seq, receipt },
    info,
    tree,
  }
}

async function otherDevice(name: string, keyPackages: number): Promise<TestDevice> {
  const device = await newDevice(server.transport, await server.person(name))
  await device.register()
  await device.upload(keyPackages)
  return device
}

test.runIf(isLong)(
  "an old welcome for a last-resort key package under another id does not lead back into a replaced group",
  async () => {
    const transport = replayingTransport(messengers.transport)
    const { person, messenger } = await messengers.newcomer("ann", { transport })
    const [mallory, ghost] = [await otherDevice("mallory", 6), await otherDevice("ghost", 2)]
    // Claims the only key package that is not the last resort.
    await ghost.createGroup([person.userId])
    const room = await mallory.createDirect(person.userId)
    await messenger.sync()
    const old = movedTo(100n, transport.joined(room.id), { id: room.id, state: room.state })
    await messenger.send(room.id, randomBytes(8))

    await mallory.calls.conversations.requestRejoin({ conversationId: room.id })
    await messenger.rejoin(room.id)
    const { conversation } = await mallory.calls.conversations.getConversation({ conversationId: room.id })
    if (conversation === undefined) throw new Error("no conversation")
    await mallory.append(await mallory.stageReset(conversation, await mallory.authorizeReset(room.id)))
    await messenger.sync()
    expect((await messenger.conversation(room.id))?.status).toBe("active")
    await messenger.rejoin(room.id)

    const failed: unknown[] = []
    const stop = messenger.subscribe((event) => event.is === "failed" && failed.push(event.error))
    transport.replay = old
    await messenger.sync()
    stop()
    expect(failed).toContainEqual(expect.objectContaining({ reason: "KEY_PACKAGE_REUSED" }))
    expect((await messenger.conversation(room.id))?.status).toBe("waiting")
    expect((await messenger.send(room.id, randomBytes(8))).state).toBe("queued")
  },
)

test.runIf(isLong)("a welcome at a position that a removed device has read is refused", async () => {
  const transport = replayingTransport(messengers.transport)
  const bea = await messengers.newcomer("bea", { transport })
  const { messenger, person } = bea
  const status = async () => (await messenger.conversation(room.id))?.status
  const adder = await otherDevice("noa", 1)
  const subjects = { userIds: [person.userId], deviceIds: [] }
  const room = await adder.createGroup(subjects.userIds)
  await messenger.sync()
  await adder.remove(room, subjects)
  const { seq: removedAt } = room
  await messenger.sync()
  expect(await status()).toBe("removed")

  await adder.add(room, subjects)
  const { calls } = (await openContext(...messengers.optionsFor(person, { store: bea.store, box: bea.box }))).context
  const { id: conversationId, state } = room
  const [welcome = expect.fail("no welcome")] = (await calls.welcomes.listWelcomes({})).welcomes
  const info = await calls.conversations.getGroupInfo({ conversationId })
  const tree = await calls.conversations.getTree({ conversationId, treeHash: welcome.treeHash, offset: 0 })
  const page = { conversationId, afterSeq: welcome.commitSeq - 1n, limit: 1 }
  const [commit = expect.fail("no commit")] = (await calls.conversations.listMessages(page)).envelopes
  transport.replay = movedTo(removedAt, { welcome, info, tree, commit }, { id: conversationId, state })
  const failed: unknown[] = []
  const stop = messenger.subscribe((event) => event.is === "failed" && failed.push(event.error))
  await messenger.sync()
  stop()
  const message = "the log was already read beyond the welcome"
  expect(failed).toContainEqual(expect.objectContaining({ reason: "WELCOME_REFUSED", message }))
  expect(await status()).toBe("removed")

  transport.replay = undefined
  await messenger.sync()
  expect(await status()).toBe("active")
})
