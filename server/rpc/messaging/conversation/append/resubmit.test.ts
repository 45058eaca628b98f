// Returned commits with receipts that the service signed, for other numbers and predecessors, and by devices that may not.
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { ConnectError } from "@connectrpc/connect"
import { hash } from "@signet/canonical/hash"
import { type ConversationId, newId, parseId } from "@signet/kernel/ids"
import type { ReceiptFacts } from "@signet/kernel/messaging/authority"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import {
  type Envelope,
  Envelope_BeginningSchema,
  Envelope_Kind,
  type EnvelopeSchema,
} from "@signet/proto/messaging/v1/records"
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { stateTag, treeOf } from "../../../../../clients/core/messaging/mls.ts"
import { isLong } from "../../../../../test/support/effort.ts"
import { proofHeader, proofOf } from "../../../../../test/support/messaging/calls.ts"
import type { TestDevice } from "../../../../../test/support/messaging/device.ts"
import { randomBytes } from "../../../../../test/support/messaging/device-parts.ts"
import type { Room } from "../../../../../test/support/messaging/room.ts"
import { openTestStore, storyStore, type TestStore } from "../../../../../test/support/postgres.ts"
import { run } from "../../../../store/postgres/sql.ts"
import { type MessagingWorld, openMessagingWorld } from "../../testing/world.ts"

type Lost = MessageInitShape<typeof EnvelopeSchema>

let store: TestStore
let world: MessagingWorld
let one: TestDevice
let two: TestDevice
let room: Room
beforeAll(async () => {
  store = await openTestStore(storyStore)
})
afterAll(() => store.close())
beforeEach(async () => {
  world = await openMessagingWorld(store)
  one = await world.newDevice()
  two = await world.newDevice()
  room = await one.createGroup([two.userId])
  await two.join()
})
afterEach(async () => {
  expect(world.faults).toEqual([])
  await world.close()
})

/** By the world's clock: devices have a clock of their own. @returns The end of the log, or the refusal. */
async function resubmit(device: TestDevice, ...envelopes: Lost[]): Promise<string> {
  const { resubmitMessages } = ConversationService.method
  const request = { conversationId: room.id, envelopes }
  const key = device.credentials.device ?? expect.fail("not registered")
  const atMs = world.deps.clock.nowMs()
  const proof = await proofOf(key, resubmitMessages, create(resubmitMessages.input, request), { atMs })
  try {
    const headers = { [proofHeader]: proof }
    return String((await device.calls.conversations.resubmitMessages(request, { headers })).headSeq)
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema)
    return [info?.reason, info?.metadata.code].join(" ").trim()
  }
}

/** A commit that the service accepted and has lost, with its receipt. */
async function lostCommit(changes: Partial<ReceiptFacts> = {}, bend = (commit: Uint8Array) => commit): Promise<Lost> {
  const { staged } = await one.stageUpdate(room)
  const message = bend(staged.commit)
  const receipt = world.deps.signReceipt({
    conversationId: room.id as ConversationId,
    mlsGroupId: room.state.groupId,
    epoch: 1n,
    seq: 2n,
    commitHash: hash("commit", message),
    proofHash: null,
    groupInfoHash: hash("group-info", staged.groupInfo),
    treeBlobHash: null,
    previousReceiptHash: typeof room.receipt === "object" ? room.receipt.hash : expect.fail("no receipt"),
    acceptedAtMs: world.deps.clock.nowMs(),
    resultingStateTag: stateTag(staged.next),
    ...changes,
  }).bytes
  return { seq: 2n, epoch: 1n, kind: Envelope_Kind.COMMIT, message, receipt, senderDeviceId: one.id }
}

async function lostText(text: string, seq: bigint): Promise<Lost> {
  const { payload } = await one.stageText(room, text)
  const message = payload.case === "application" ? payload.value : expect.fail("no message")
  return { seq, epoch: 1n, kind: Envelope_Kind.APPLICATION, message, senderDeviceId: one.id }
}

test("a commit returns with the receipt that the service signed for it", async () => {
  expect(await resubmit(two, await lostCommit())).toBe("2")
})

test.each<[string, Partial<ReceiptFacts>, string]>([
  ["for another number", { seq: 3n }, "ENVELOPE_INVALID RECEIPT_WRONG_SEQ"],
  ["that follows another one", { previousReceiptHash: new Uint8Array(32) }, "ENVELOPE_INVALID RECEIPT_FORK"],
  ["that follows none", { previousReceiptHash: null }, "ENVELOPE_INVALID RECEIPT_FORK"],
  ["of another epoch", { epoch: 2n }, "ENVELOPE_INVALID RECEIPT_WRONG_EPOCH"],
  ["of another commit", { commitHash: new Uint8Array(32) }, "ENVELOPE_INVALID RECEIPT_WRONG_COMMIT"],
])("a commit does not return with another receipt: one %s", async (_, changes, refused) => {
  expect(await resubmit(two, await lostCommit(changes))).toBe(refused)
})

/** The signature of the framed content precedes the confirmation tag: both have a length prefix of one byte. */
function withFlippedSignature(commit: Uint8Array): Uint8Array {
  const bent = Uint8Array.from(commit)
  const at = bent.length - 2 * 33 - 1
  bent[at] = (bent[at] ?? 0) ^ 1
  return bent
}

test("a signed receipt does not replace the committer's signature", async () => {
  expect(await resubmit(two, await lostCommit({}, withFlippedSignature))).toBe("MLS_MALFORMED MLS_BAD_SIGNATURE")
})

test("a device whose credential has expired returns nothing", async () => {
  const lost = await lostText("lost", 2n)
  world.advance(401 * 86_400_000)
  expect(await resubmit(two, lost)).toBe("CREDENTIAL_REFUSED CRED_EXPIRED")
})

test("a revoked device returns nothing, and nothing of it returns", async () => {
  const lost = await lostText("lost", 2n)
  await one.calls.devices.revokeDevice({ deviceId: one.id })
  expect(await resubmit(one, lost)).toContain("DEVICE_REVOKED")
  expect(await resubmit(two, lost)).toBe("DEVICE_REVOKED")
})

/** The first commit, which the service has lost with the whole conversation. */
async function lostBeginning(): Promise<{
  readonly bare: Envelope
  readonly groupInfo: Uint8Array
  readonly tree: Uint8Array
}> {
  const conversationId = room.id
  const [first] = (await two.calls.conversations.listMessages({ conversationId, limit: 1 })).envelopes
  const { groupInfo } = await two.calls.conversations.getGroupInfo({ conversationId })
  const { db } = store
  const text = "select table_name as name from information_schema.columns where column_name = $1 and table_schema = $2"
  const tables = await run<{ name: string }>(db, text, ["conversation_id", "public"])
  await db.transaction().execute(async (trx) => {
    await run(trx, "set local session_replication_role = replica", [])
    for (const { name } of tables) await run(trx, `delete from public.${name} where conversation_id = $1`, [room.id])
    await run(trx, "delete from conversation where id = $1", [room.id])
  })
  return { bare: first ?? expect.fail("no commit"), groupInfo, tree: treeOf(room.state) }
}

const begun = ({ bare, groupInfo, tree }: Awaited<ReturnType<typeof lostBeginning>>): Envelope => ({
  ...bare,
  beginning: create(Envelope_BeginningSchema, { groupInfo, tree }),
})

test("a lost conversation returns with its first commit, for whichever member is first", async () => {
  const lost = await lostBeginning()
  expect(await resubmit(two, lost.bare)).toBe("RESOURCE_UNRESOLVED")
  expect(await Promise.all([one, two].map((device) => resubmit(device, begun(lost))))).toEqual(["1", "1"])
  expect(await resubmit(two, await lostText("lost", 2n))).toBe("2")
  const { conversation } = await two.calls.conversations.getConversation({ conversationId: room.id })
  expect(conversation).toMatchObject({ epoch: 1n, mlsGroupId: room.state.groupId })
  expect(conversation?.members.map(({ deviceId }) => deviceId).toSorted()).toEqual([one.id, two.id].toSorted())
})

test("a group does not begin with another tree or GroupInfo than its receipt names", async () => {
  const lost = await lostBeginning()
  const bent = (bytes: Uint8Array) => Uint8Array.from(bytes, (byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte))
  for (const changed of [{ groupInfo: bent(lost.groupInfo) }, { tree: bent(lost.tree) }]) {
    expect(await resubmit(two, begun({ ...lost, ...changed }))).toContain("GROUP_INFO_MISMATCH")
  }
})

test("a group does not begin in another conversation than its id names", async () => {
  const lost = await lostBeginning()
  room = { ...room, id: newId("cnv", Date.now(), randomBytes(10)) }
  expect(await resubmit(two, begun(lost))).toContain("GROUP_INFO_MISMATCH")
})

test.runIf(isLong)("a device that the first commit did not add does not return it", async () => {
  const lost = await lostBeginning()
  expect(await resubmit(await world.newDevice(), begun(lost))).toBe("NOT_MEMBER")
  expect(await resubmit(two, { ...begun(lost), seq: 2n })).toBe("RESOURCE_UNRESOLVED")
})

test("a call that appends has one audit event, and one that appends nothing has none", async () => {
  const lost = [await lostText("lost", 2n), await lostText("too", 3n)]
  const id = parseId("cnv", room.id) ?? expect.fail()
  const events = async () =>
    store.db
      .selectFrom("audit_event")
      .select(["actor_principal_id"])
      .where("target_id", "=", id)
      .where("kind", "=", "conversation.resubmitted")
      .execute()
  expect(await resubmit(two, ...lost)).toBe("3")
  expect(await events()).toEqual([{ actor_principal_id: two.userId }])
  expect(await resubmit(two, ...lost)).toBe("3")
  expect(await events()).toHaveLength(1)
})
