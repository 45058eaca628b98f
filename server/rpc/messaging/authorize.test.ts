// The limit that a refused change of too many devices names.
import { Refused } from "@signet/kernel/errors"
import { idOf } from "@signet/kernel/ids"
import { maxCount } from "@signet/kernel/messaging/limits"
import type { ClaimRecord } from "@signet/kernel/messaging/records"
import { bytes, conversation, device, keyPackage } from "@signet/kernel/messaging/testing/records"
import { expect, test } from "vitest"
import { detailsOf } from "../../serving/call/detailed.ts"
import { admitted } from "./authorize.ts"

const claimOf = (packages: number): ClaimRecord => ({
  ...{ id: idOf("clm", bytes(1, 16)), requesterDeviceId: device(10), conversationId: conversation.id },
  ...{ requestHash: bytes(1), packages: Array.from({ length: packages }, () => keyPackage(30)) },
  ...{ withoutDeviceIds: [], claimedAtMs: 1 },
})

test.each([
  ["subjects_per_commit", maxCount.subjectsPerCommit, maxCount.subjectsPerCommit + 1],
  ["leaves_per_conversation", conversation.maxLeaves, maxCount.subjectsPerCommit],
])("a claim that exceeds %s of %s", (limit, max, packages) => {
  try {
    admitted(conversation, claimOf(packages), { is: "refuse", reason: "LIMIT_EXCEEDED" })
    expect.unreachable()
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    expect(detailsOf(error).map(({ value }) => value)).toMatchObject([{ limit, max: BigInt(max) }])
  }
})
