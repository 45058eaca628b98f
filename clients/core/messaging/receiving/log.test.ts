import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import {
  type ConversationRecord_Quarantine,
  ConversationRecord_QuarantineSchema,
  ConversationRecord_Status as Status,
} from "@signet/proto/client/v1/records"
import {
  ConversationSchema,
  Directive_Status,
  DirectiveKind,
  type DirectiveSchema,
  Conversation_Status as ServiceStatus,
} from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { MessagingError } from "../errors.ts"
import { idOf } from "../ids.ts"
import { refusedAs, scripted } from "../testing/scripted.ts"
import { catchUp, changeRecord, lookForHelp, rejoinIfEpochLost, reportQuarantine } from "./log.ts"

type Shown = MessageInitShape<typeof ConversationSchema>
const [userId, deviceId] = [idOf("prn", world.alice), idOf("dev", world.phone)]

/** A conversation whose service shows this of it. */
async function showing(shown: Shown | undefined) {
  const called: string[] = []
  const opened = await scripted({
    service: {
      getConversation() {
        called.push("get")
        return shown === undefined ? {} : { conversation: shown }
      },
      requestRejoin() {
        called.push("rejoin")
        return {}
      },
    },
  })
  return { ...opened, called }
}

test.each<[string, boolean, Shown | undefined, Status]>([
  ["an earlier epoch at the same length", true, { epoch: 0n, headSeq: 4n }, Status.ACTIVE],
  ["an earlier epoch in a longer log", true, { epoch: 0n, headSeq: 9n }, Status.ACTIVE],
  ["an earlier epoch in a shorter log", false, { epoch: 0n, headSeq: 3n }, Status.ACTIVE],
  ["the same epoch", false, { epoch: 1n, headSeq: 9n }, Status.ACTIVE],
  ["no conversation", false, undefined, Status.ACTIVE],
  ["an earlier epoch, to a device that waits", false, { epoch: 0n, headSeq: 4n }, Status.WAITING],
])("a service shows %s: a device rejoins is %s", async (_, isLost, shown, status) => {
  const { conversation, write, called } = await showing(shown)
  await write({ status })
  expect(await rejoinIfEpochLost(conversation)).toBe(isLost)
  expect(called.includes("rejoin")).toBe(isLost)
})

test.each<[string, Shown | undefined, number]>([
  ["also in the conversation", { headSeq: 3n }, 1],
  ["in a stale page only", { headSeq: 4n }, 0],
  ["in a page of a conversation that is not shown", undefined, 0],
])("of a device without the lost envelopes, a log that is shorter %s causes %s rejoins", async (_, shown, rejoins) => {
  let requested = 0
  const { conversation, write } = await scripted({
    service: {
      listMessages: () => ({ headSeq: 3n }),
      getConversation: () => (shown === undefined ? {} : { conversation: shown }),
      requestRejoin() {
        requested++
        return {}
      },
    },
  })
  await write()
  await catchUp(conversation)
  expect(requested).toBe(rejoins)
})

test.each<[string, bigint, number]>([
  ["beyond a gap", 7n, 1],
  ["at the next sequence number", 5n, 0],
])("a log that continues %s causes a number of rejoins", async (_, seq, rejoins) => {
  let requested = 0
  const opened = await scripted({
    service: {
      listMessages: ({ afterSeq }) => ({ envelopes: afterSeq < seq ? [next] : [], headSeq: seq }),
      ackMessages: () => ({}),
      getConversation: () => ({}),
      requestRejoin() {
        requested++
        return {}
      },
    },
  })
  await opened.write()
  const next = await opened.bobsCommit({ seq })
  await catchUp(opened.conversation)
  expect(requested).toBe(rejoins)
})

test("an epoch is not lost on a device without a group", async () => {
  const { conversation, write, called } = await showing({ epoch: 0n, headSeq: 9n })
  await write({}, { local: undefined })
  expect([await rejoinIfEpochLost(conversation), called]).toEqual([false, []])
})

const rejoin: MessageInitShape<typeof DirectiveSchema> = {
  userId,
  deviceId,
  kind: DirectiveKind.REJOIN,
  status: Directive_Status.OPEN,
}
test.each<[string, typeof rejoin, number]>([
  ["of this device", {}, 1],
  ["of this device, which was removed", { status: Directive_Status.REMOVED }, 1],
  ["of another device", { deviceId: idOf("dev", world.id(1)) }, 0],
  ["of another user", { userId: idOf("prn", world.bob) }, 0],
  ["that is done", { status: Directive_Status.DONE }, 0],
  ["that is a revocation", { kind: DirectiveKind.REVOCATION }, 0],
])("for a rejoin %s, a helper is requested %s times", async (_, change, calls) => {
  const { conversation, write, called } = await showing(undefined)
  await write({ status: Status.WAITING }, { local: undefined })
  await lookForHelp(conversation, create(ConversationSchema, { directives: [{ ...rejoin, ...change }] }))
  expect(called).toHaveLength(calls)
})

const listedNowhere = undefined
test.each<[string, Shown | undefined, Status]>([
  ["that its user is no member of", undefined, Status.STRANDED],
  ["that is closed", { status: ServiceStatus.CLOSED, members: [{ userId }] }, Status.STRANDED],
  ["that it asked to join, and whose members all leave", { directives: [rejoin], members: [] }, Status.STRANDED],
  ["that it asked to join", { directives: [rejoin], members: [{ userId }] }, Status.WAITING],
  ["that it has not asked to join yet", { members: [] }, Status.WAITING],
])("a device without a leaf in a conversation %s", async (_, shown, status) => {
  const { conversation, write } = await scripted({
    service: {
      getConversation() {
        if (shown === undefined) throw refusedAs("RESOURCE_UNRESOLVED")
        return { conversation: shown }
      },
    },
  })
  await write({ status: Status.WAITING }, { local: undefined })
  await lookForHelp(conversation, listedNowhere)
  expect((await conversation.stored()).record?.status).toBe(status)
})

const quarantine = (more: MessageInitShape<typeof ConversationRecord_QuarantineSchema> = {}) =>
  create(ConversationRecord_QuarantineSchema, { reason: "STATE_TAG_DIFFERS", seq: 2n, ...more })

test.each<[string, Error | undefined, ConversationRecord_Quarantine | undefined, boolean | undefined]>([
  ["that succeeds", undefined, quarantine(), true],
  ["that the service refuses", refusedAs("NOT_FOUND"), quarantine(), true],
  ["whose answer is lost", new ConnectError("lost", Code.Unavailable), quarantine(), false],
  ["that the service defers", refusedAs("UNAVAILABLE"), quarantine(), false],
  ["during which the quarantine ends", undefined, undefined, undefined],
  ["during which another commit is quarantined", undefined, quarantine({ seq: 3n }), false],
  ["during which another reason is found", undefined, quarantine({ reason: "THIRD_USER" }), false],
])("a report %s marks the reported quarantine only", async (_, error, meanwhile, isReported) => {
  const opened = await scripted({
    service: {
      async reportFork() {
        await changeRecord(opened.otherTab, () => ({ quarantine: meanwhile }))
        if (error !== undefined) throw error
        return {}
      },
    },
  })
  const { conversation, write, events } = opened
  await write({ status: Status.QUARANTINED, quarantine: quarantine() })
  await reportQuarantine(conversation)
  expect((await conversation.stored()).record?.quarantine?.isReported).toBe(isReported)
  expect(events.filter(({ is }) => is === "failed")).toHaveLength(error === undefined ? 0 : 1)
})

test("a report that fails on this device is repeated, and one that succeeded is not", async () => {
  const { conversation, write } = await scripted()
  const { conversations } = conversation.calls
  let reports = 0
  const reportFork = async () => {
    reports++
    throw new MessagingError("WRONG_USER", "another user is signed in")
  }
  const failing = { ...conversation, calls: { ...conversation.calls, conversations: { ...conversations, reportFork } } }
  await write({ status: Status.QUARANTINED, quarantine: quarantine() })
  for (let i = 0; i < 2; i++) await reportQuarantine(failing)
  await write({ status: Status.QUARANTINED, quarantine: quarantine({ isReported: true }) })
  await reportQuarantine(failing)
  expect(reports).toBe(2)
})
