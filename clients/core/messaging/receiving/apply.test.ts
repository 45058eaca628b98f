// Commits whose receipts are signed with a key that this device does not know yet, because the service has rotated its key;
// and envelopes that the log repeats.
import { hash } from "@signet/canonical/hash"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { expiredKeySet, nextKeySet } from "../testing/key-sets.ts"
import { type Scripted, scripted } from "../testing/scripted.ts"
import { applyEnvelopes } from "./apply.ts"

const newKey = world.signerOf(0x31)
const rotated = await nextKeySet(newKey.publicKey, KeyPurpose.RECEIPT)

/** Two commits of Bob. The service rotates its key between them. */
async function commitsAround({ bobsCommit }: Scripted) {
  const first = await bobsCommit({ seq: 5n })
  const previous = hash("commit-receipt", first.receipt)
  return [first, await bobsCommit({ seq: 6n, previous, signer: newKey })]
}

test("a commit under a new receipt key in the middle of a batch is applied with a fresh key set", async () => {
  const opened = await scripted({ keySets: [world.keySetBytes, rotated] })
  await opened.write()
  const [first, second] = await commitsAround(opened)
  if (first === undefined || second === undefined) return expect.fail("no commits")
  const applied = await applyEnvelopes(opened.conversation, [first, second], "log", true)
  expect([applied.processedSeq, opened.fetched()]).toEqual([6n, 1])
  const { record, local } = await opened.otherTab.stored()
  expect([record?.quarantine, local?.group.epoch]).toEqual([undefined, opened.local.group.epoch + 2n])
})

test("a commit is applied with a fresh key set after the stored one has expired while the program ran", async () => {
  const opened = await scripted({ keySets: [expiredKeySet, await nextKeySet()] })
  await opened.write()
  const applied = await applyEnvelopes(opened.conversation, [await opened.bobsCommit({ seq: 5n })], "log", true)
  expect([applied.processedSeq, opened.fetched()]).toEqual([5n, 1])
})

test("a commit is not applied while the service, too, has an expired key set", async () => {
  const opened = await scripted({ keySets: [expiredKeySet] })
  await opened.write()
  const applying = applyEnvelopes(opened.conversation, [await opened.bobsCommit({ seq: 5n })], "log", true)
  await expect(applying).rejects.toMatchObject({ reason: "ISSUER_KEYS_REFUSED" })
  expect([(await opened.conversation.stored()).record?.quarantine, opened.fetched()]).toEqual([undefined, 1])
})

test("a batch under known keys fetches no key set", async () => {
  const opened = await scripted()
  await opened.write()
  const applied = await applyEnvelopes(opened.conversation, [await opened.bobsCommit({ seq: 5n })], "log", true)
  expect([applied.processedSeq, opened.fetched()]).toEqual([5n, 0])
})

test("a receipt of a key that the fresh set lacks, too, is rejected after one fetch", async () => {
  const opened = await scripted()
  await opened.write()
  const forged = await opened.bobsCommit({ seq: 5n, signer: world.strangerKey })
  expect((await applyEnvelopes(opened.conversation, [forged], "log", true)).processedSeq).toBe(4n)
  const { record } = await opened.conversation.stored()
  expect([record?.quarantine?.reason, opened.fetched()]).toEqual(["RECEIPT_UNKNOWN_ISSUER_KEY", 1])
})

test.each([
  ["in the same batch", 1],
  ["in the next one", 2],
])("an own commit that the log repeats at a new number changes nothing: %s", async (_, batches) => {
  const opened = await scripted()
  const { conversation, local } = opened
  await opened.write()
  // The service names the sender; the commit is valid.
  const commit = { ...(await opened.bobsCommit({ seq: 5n })), senderDeviceId: conversation.device.id ?? expect.fail() }
  const log = [commit, { ...commit, seq: 6n }]
  for (const part of batches === 1 ? [log] : [log.slice(0, 1), log.slice(1)]) {
    await applyEnvelopes(conversation, part, "log", true)
  }
  const { record, local: after } = await conversation.stored()
  expect([record?.quarantine, after?.processedSeq, after?.group.epoch]).toEqual([undefined, 6n, local.group.epoch + 1n])
})

test("a repeated commit of another device is a misplaced one", async () => {
  const opened = await scripted()
  await opened.write()
  const commit = await opened.bobsCommit({ seq: 5n })
  await applyEnvelopes(opened.conversation, [commit, { ...commit, seq: 6n }], "log", true)
  const { record, local } = await opened.conversation.stored()
  expect([record?.quarantine?.reason, local?.processedSeq]).toEqual(["EPOCH_MISPLACED", 5n])
})
