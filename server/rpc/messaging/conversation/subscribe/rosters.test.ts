import { idOf } from "@signet/kernel/ids"
import { bytes, user } from "@signet/kernel/messaging/testing/records"
import { expect, test } from "vitest"
import { createRosters } from "./rosters.ts"

const users = (number: number, userIds: readonly ReturnType<typeof user>[]) => ({
  conversationId: idOf("cnv", bytes(number, 16)),
  headSeq: 1n,
  userIds: [...userIds],
})

test("streams share an equal list of one conversation, and no other", () => {
  const rosters = createRosters()
  const first = rosters.shared(users(1, [user(1), user(2)]))
  expect(rosters.shared(users(1, [user(1), user(2)]))).toBe(first)
  for (const [number, ids] of [
    [2, [user(1), user(2)]],
    [1, [user(1), user(3)]],
    [1, [user(1)]],
    [1, [user(1), user(2), user(3)]],
    [1, []],
  ] as const) {
    expect(rosters.shared(users(number, ids))).toEqual(ids)
  }
  expect(first).toEqual([user(1), user(2)])
})
