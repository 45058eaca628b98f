// A service with its receipt key accepts a device's own commit and signs that it led to another state. Other members
// would receive a fork under that receipt, so the device does not apply its own commit.
import type { MessageShape } from "@bufbuild/protobuf"
import { decode } from "@signet/canonical/canonical"
import { parseSigned } from "@signet/canonical/signed"
import type { ConversationId } from "@signet/kernel/ids"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import {
  type AppendMessageResponse,
  ReportForkRequest_Fault,
  type ReportForkRequestSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { afterAll, beforeAll, expect, test } from "vitest"
import { idOf } from "../../clients/core/messaging/ids.ts"
import { randomBytes } from "../support/messaging/device-parts.ts"
import { type LyingTransport, lyingTransport } from "../support/messaging/lying-transport.ts"
import { type Messengers, messengersOn, type OpenedMessenger } from "../support/messaging/messengers.ts"
import { movedClock } from "../support/messaging/moved-clock.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import { storyStore } from "../support/postgres.ts"

let server: MessagingServer
let messengers: Messengers
let transport: LyingTransport
let ann: OpenedMessenger
let ben: OpenedMessenger
let cam: OpenedMessenger
const { clock, pass } = movedClock(() => server)
beforeAll(async () => {
  server = await startMessagingServer({ store: storyStore })
  messengers = messengersOn(server)
  transport = lyingTransport(messengers.transport)
  ann = await messengers.newcomer("ann", { transport, clock })
  ben = await messengers.newcomer("ben", { clock })
  cam = await messengers.newcomer("cam", { clock })
})
afterAll(async () => {
  await messengers?.close()
  await server?.close()
})

/** Signs the receipt of an accepted commit again, for another resulting state. */
function bend(answer: AppendMessageResponse): void {
  const truth = decode(CommitReceiptBodyV1Schema, parseSigned(CommitReceiptBodyV1Schema, answer.receipt).body)
  const hashOrNull = (bytes: Uint8Array) => (bytes.length === 0 ? null : bytes)
  const { bytes } = server.messaging.deps.signReceipt({
    ...truth,
    conversationId: idOf("cnv", truth.conversationId) as ConversationId,
    acceptedAtMs: Number(truth.acceptedAtMs),
    proofHash: hashOrNull(truth.proofHash),
    treeBlobHash: hashOrNull(truth.treeBlobHash),
    previousReceiptHash: hashOrNull(truth.previousReceiptHash),
    resultingStateTag: randomBytes(32),
  })
  answer.receipt = bytes
}

/** The only device of a member, which has left it, begins the direct conversation anew. */
async function leaveAlone(): Promise<void> {
  await ann.messenger.createDirectConversation(ben.person.userId)
  const [conversation] = (await ann.messenger.conversations()).filter(({ isDirect }) => isDirect)
  await ann.messenger.rejoin(conversation?.id ?? "")
  // No member counts as online after a minute.
  await pass()
}

const group = () => ann.messenger.createGroupConversation([ben.person.userId])

const commits: Record<string, [before: () => Promise<unknown>, commit: (id: string) => Promise<unknown>]> = {
  "the first one": [async () => undefined, group],
  "an addition": [group, (id) => ann.messenger.addMembers(id, [cam.person.userId])],
  "a removal": [group, (id) => ann.messenger.removeMembers(id, [ben.person.userId])],
  "an update": [group, (id) => ann.messenger.refreshKeys(id)],
  "a reset": [leaveAlone, () => ann.messenger.createDirectConversation(ben.person.userId)],
}

test.each(Object.entries(commits))(
  "a device quarantines the conversation when the receipt of its own commit names another state: %s",
  async (name, [before, commit]) => {
    const made = await before()
    transport.reports.length = 0
    transport.bend = { method: "AppendMessage", answer: (truth) => bend(truth as AppendMessageResponse) }
    const answer: unknown = await commit(Object(made).id).catch((error: unknown) => error)
    transport.bend = undefined
    // A reset is carried out beside what the app asked for, and the conversation in the answer has the status.
    expect([Object(answer).reason, Object(answer).status]).toEqual(
      answer instanceof Error ? ["CONVERSATION_NOT_ACTIVE", undefined] : [undefined, "quarantined"],
    )
    await ann.messenger.sync()
    const [report] = transport.reports as MessageShape<typeof ReportForkRequestSchema>[]
    expect(report).toMatchObject({ fault: ReportForkRequest_Fault.STATE_TAG_MISMATCH })
    expect(report?.stateTag).toHaveLength(32)
    const after = await ann.messenger.conversation(report?.conversationId ?? "")
    // In a direct conversation the device has requested a rejoin by itself.
    const status = name === "a reset" ? "waiting" : "quarantined"
    expect(after).toMatchObject({ status, quarantine: { reason: "STATE_TAG_DIFFERS" } })
  },
)
