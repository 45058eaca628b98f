// The outcome of a send that another tab, a removal or a former send has decided meanwhile.
import { create } from "@bufbuild/protobuf"
import { OutboxRecordSchema, ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import type { FailureReason } from "../../errors.ts"
import type { TimelineEntry } from "../events.ts"
import { timelineOp } from "../state/timeline.ts"
import { refusedAs, scripted } from "../testing/scripted.ts"
import { deliver } from "./outbox.ts"
import { putOutboxItem } from "./outbox-rows.ts"

const own = { outboxId: "00000000000000000001" }
const other = { outboxId: "00000000000000000002" }
const waiting = ({ outboxId }: typeof own) =>
  putOutboxItem({ id: outboxId, record: create(OutboxRecordSchema, { epoch: 1n, message: Uint8Array.of(1) }) })

const from = { userId: "prn_a", deviceId: "dev_a" }
const entryOf = ({ outboxId }: typeof own, seq: bigint): TimelineEntry => ({
  ...{ seq, atMs: 7, is: "message", from, plaintext: Uint8Array.of(1), outboxId },
})
const attachment: TimelineEntry = {
  ...{ seq: 3n, atMs: 7, is: "attachment", from, fileName: "a", mediaType: "b/c", size: 5, ...own },
}

interface State {
  readonly status?: Status
  readonly waits?: readonly (typeof own)[]
  readonly entries?: readonly TimelineEntry[]
  readonly processedSeq?: bigint
  /** Answers the append. */
  readonly append?: () => never
}

async function delivering({ status = Status.ACTIVE, waits = [], entries = [], processedSeq = 4n, append }: State) {
  const listMessages = () => ({ headSeq: processedSeq })
  const opened = await scripted({
    service: { listMessages, appendMessage: append ?? (() => expect.unreachable("nothing is sent")) },
  })
  const { conversation, local } = opened
  const ops = await Promise.all(entries.map((entry) => timelineOp(conversation.rows, conversation.id, entry)))
  await opened.write({ status }, { local: { ...local, processedSeq }, due: waits.map(waiting), ops })
  return deliver(conversation, own)
}

const refusing = (reason: FailureReason) => () => {
  throw refusedAs(reason)
}
const many = Array.from({ length: 1_001 }, (_, i) => entryOf(other, BigInt(i + 1)))

test.each<[string, State, bigint]>([
  ["sent meanwhile", { entries: [entryOf(other, 2n), entryOf(own, 3n)] }, 3n],
  ["sent as an attachment", { entries: [attachment] }, 3n],
  ["sent before the user left", { status: Status.LEAVING, waits: [other], entries: [entryOf(own, 3n)] }, 3n],
  ["sent after a thousand others", { entries: [...many, entryOf(own, 1_002n)], processedSeq: 1_500n }, 1_002n],
])("a message that another tab has %s is sent", async (_, state, seq) => {
  expect(await delivering(state)).toMatchObject({ state: "sent", ...own, seq })
})

test.each<[string, State, string]>([
  ["waits for a group", { status: Status.WAITING, waits: [own] }, "QUEUED"],
  ["was dropped when the user left", { status: Status.LEAVING }, "CONVERSATION_NOT_ACTIVE"],
  [
    "was dropped when the user left, before another",
    { status: Status.LEAVING, waits: [other] },
    "CONVERSATION_NOT_ACTIVE",
  ],
  ["the service refuses again and again", { waits: [own], append: refusing("STALE_EPOCH") }, "CONFLICT_EXHAUSTED"],
  ["is not in the log", { entries: [entryOf(other, 3n)] }, "QUEUED"],
])("a message that %s is not sent", async (_, state, reason) => {
  await expect(delivering(state)).rejects.toMatchObject({ reason })
})

test("a refusal of the awaited message itself is thrown", async () => {
  const refused = delivering({ waits: [own], append: refusing("LIMIT_EXCEEDED") })
  await expect(refused).rejects.toThrow("LIMIT_EXCEEDED")
})

test("a fault of this device is thrown, though the message still waits", async () => {
  const { conversation, write } = await scripted({ service: { listMessages: () => ({ headSeq: 4n }) } })
  const { conversations } = conversation.calls
  const appendMessage = () => Promise.reject(new TypeError("a fault"))
  const failing = {
    ...conversation,
    calls: { ...conversation.calls, conversations: { ...conversations, appendMessage } },
  }
  await write({}, { due: [waiting(own)] })
  await expect(deliver(failing, own)).rejects.toThrow(TypeError)
})
