import { describe, expect, test } from "vitest"
import { addableByAnyone, decideBlock, emptyBlockList, isHiddenFrom, withoutPackagesOf } from "./block.ts"
import { maxCount } from "./limits.ts"
import type { BlockList, ClaimRecord, Conversation, Directive } from "./records.ts"
import { bytes, conversation, device, directive, fresh, leaf, nowMs, user } from "./testing/records.ts"

const list = (version: bigint, ...numbers: readonly number[]): BlockList => ({ version, userIds: numbers.map(user) })
const block = (number: number) => ({ userId: user(number), isBlocked: true })
const unblock = (number: number) => ({ userId: user(number), isBlocked: false })

test("a block is added at the end, and an unblock removes it", () => {
  expect(decideBlock(emptyBlockList, block(1))).toEqual({ is: "change", list: list(1n, 1) })
  expect(decideBlock(list(1n, 2), block(1))).toEqual({ is: "change", list: list(2n, 2, 1) })
  expect(decideBlock(list(2n, 2, 1), unblock(2))).toEqual({ is: "change", list: list(3n, 1) })
})

test("a state that the list has already changes nothing, also at the limit", () => {
  expect(decideBlock(list(2n, 2, 1), block(1))).toEqual({ is: "there" })
  expect(decideBlock(emptyBlockList, unblock(1))).toEqual({ is: "there" })
  const userIds = Array.from({ length: maxCount.blocksPerUser }, (_, i) => user(i % 256))
  expect(decideBlock({ version: 9n, userIds }, block(1))).toEqual({ is: "there" })
})

test("the list has at most the limit", () => {
  const others = (count: number) => ({ version: 9n, userIds: Array.from({ length: count }, () => user(2)) })
  expect(decideBlock(others(maxCount.blocksPerUser - 1), block(1)).is).toBe("change")
  expect(decideBlock(others(maxCount.blocksPerUser), block(1))).toEqual({ is: "full" })
  expect(decideBlock(others(maxCount.blocksPerUser), unblock(2)).is).toBe("change")
})

describe("users whom everyone may add", () => {
  const rejoin = (change: Partial<Directive> = {}): Directive => ({ ...directive, kind: "REJOIN", ...change })
  const direct: Conversation = { ...conversation, kind: "DIRECT" }
  test.each<[string, Conversation, readonly number[]]>([
    ["the members of a group", conversation, [1, 2]],
    ["nobody in a new group", fresh, []],
    ["not the members of a direct conversation", direct, []],
    ["a user with a device that requested a rejoin", { ...direct, directives: [rejoin({ userId: user(2) })] }, [2]],
    [
      "also once that device is removed",
      { ...conversation, roster: [leaf(0, 10)], directives: [rejoin({ status: "REMOVED" })] },
      [1, 2],
    ],
    ["not by another directive", { ...direct, directives: [directive] }, []],
    ["not by a rejoin that is done", { ...direct, directives: [rejoin({ status: "DONE" })] }, []],
  ])("%s", (_, of, users) => {
    expect(addableByAnyone(of)).toEqual(users.map(user))
  })
})

test("only a conversation without a first commit, and by a blocked user, is hidden", () => {
  expect(isHiddenFrom(list(1n, 1), fresh)).toBe(true)
  expect(isHiddenFrom(list(1n, 2), fresh)).toBe(false)
  expect(isHiddenFrom(list(1n, 1), conversation)).toBe(false)
})

test("packages of users who block the requester are withheld, and their devices appear to have none", () => {
  const one = (number: number) => ({
    ...{ ref: bytes(number), initKey: bytes(number), deviceId: device(number), userId: user(Math.floor(number / 10)) },
    ...{ credentialHash: bytes(1), bytes: bytes(2), isLastResort: false, notBeforeMs: 0, notAfterMs: nowMs },
    status: "CLAIMED" as const,
  })
  const claim: ClaimRecord = {
    ...{ id: "clm_1" as ClaimRecord["id"], requesterDeviceId: device(30), conversationId: conversation.id },
    ...{ requestHash: bytes(1), packages: [one(10), one(20)], withoutDeviceIds: [device(21)], claimedAtMs: nowMs },
  }
  expect(withoutPackagesOf(claim, [])).toBe(claim)
  expect(withoutPackagesOf(claim, [user(3)])).toBe(claim)
  const { packages, withoutDeviceIds } = withoutPackagesOf(claim, [user(1)])
  expect(packages).toEqual([one(20)])
  expect(withoutDeviceIds).toEqual([device(10), device(21)])
})
