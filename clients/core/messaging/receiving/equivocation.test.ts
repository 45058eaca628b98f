import { create } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { ReportForkResponseSchema } from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import { refusedAs, type Scripted, scripted } from "../testing/scripted.ts"
import { applyEnvelopes } from "./apply.ts"
import { handleEquivocation, mayBeEquivocation } from "./equivocation.ts"

/** A device whose service lists another commit, with a valid receipt, for the one that began the epoch. */
async function equivocated(meanwhile: (opened: Scripted) => Promise<unknown> = async () => undefined) {
  const called: string[] = []
  let isFirst = true
  const opened: Scripted = await scripted({
    service: {
      async listMessages() {
        if (isFirst) {
          isFirst = false
          await meanwhile(opened)
        }
        return { envelopes: [other], headSeq: 4n }
      },
      reportFork() {
        called.push("reportFork")
        return create(ReportForkResponseSchema)
      },
      requestRejoin() {
        called.push("requestRejoin")
        return {}
      },
      getConversation: () => ({}),
    },
  })
  await opened.write()
  const other = await opened.bobsCommit({ seq: 4n, epoch: opened.local.group.epoch - 1n })
  const { conversation } = opened
  return {
    ...opened,
    other,
    called,
    handled: () => handleEquivocation(conversation),
    stored: () => conversation.stored(),
  }
}

test("another commit with a valid receipt is stored as evidence, and reported once", async () => {
  const { handled, called, stored } = await equivocated()
  expect(await handled()).toBe(true)
  expect((await stored()).record?.quarantine?.reason).toBe("RECEIPT_TOLD_DIFFERS")
  expect(called).toEqual(["reportFork", "requestRejoin"])
  expect(await handled()).toBe(false)
  expect(called).toHaveLength(2)
})

test("the commit that this device has applied is no equivocation", async () => {
  const { handled, called, other, local, write } = await equivocated()
  const receipt = { hash: hash("commit-receipt", other.receipt), acceptedAtMs: 1n }
  await write({}, { local: { ...local, receipt } })
  expect([await handled(), called]).toEqual([false, []])
})

test("a device without a group, or in its first epoch, has applied no commit and reads no log", async () => {
  const { conversation, local, write } = await scripted({
    service: { listMessages: () => expect.unreachable("there is no commit to compare") },
  })
  await write({}, { local: undefined })
  expect(await handleEquivocation(conversation)).toBe(false)
  await write({}, { local: { ...local, receipt: "first" } })
  expect(await handleEquivocation(conversation)).toBe(false)
})

test.each<[string, (opened: Scripted) => Promise<unknown>, Status]>([
  ["has reported the same", ({ otherTab }) => handleEquivocation(otherTab), Status.STRANDED],
  [
    "has entered the next epoch",
    async ({ otherTab, bobsCommit }) => applyEnvelopes(otherTab, [await bobsCommit({ seq: 5n })], "log", true),
    Status.ACTIVE,
  ],
  [
    "has left the group",
    ({ otherTab }) => otherTab.change(async (stored) => ({ next: { ...stored, local: undefined }, result: undefined })),
    Status.ACTIVE,
  ],
])("nothing is quarantined if another tab %s meanwhile", async (_, meanwhile, status) => {
  const { handled, called, stored } = await equivocated(meanwhile)
  expect(await handled()).toBe(false)
  const { record } = await stored()
  expect([record?.status, called.length]).toEqual([status, status === Status.STRANDED ? 2 : 0])
})

test("only a refusal that names another commit or state may be an equivocation", () => {
  expect(mayBeEquivocation(refusedAs("PROOF_STALE"))).toBe(true)
  expect(mayBeEquivocation(refusedAs("ENVELOPE_INVALID", { code: "AAD_WRONG_RECEIPT" }))).toBe(true)
  expect(mayBeEquivocation(refusedAs("ENVELOPE_INVALID", { code: "AAD_WRONG_CONVERSATION" }))).toBe(false)
  expect(mayBeEquivocation(new Error("offline"))).toBe(false)
})

test("a long log is searched backwards, in pages of at most 200", async () => {
  const asked: [bigint, number][] = []
  const { conversation, local, write } = await scripted({
    service: {
      listMessages({ afterSeq, limit }) {
        asked.push([afterSeq, limit])
        return { headSeq: 450n }
      },
    },
  })
  await write({}, { local: { ...local, processedSeq: 450n } })
  expect(await handleEquivocation(conversation)).toBe(false)
  expect(asked).toEqual([
    [250n, 200],
    [50n, 200],
    [0n, 50],
  ])
})
