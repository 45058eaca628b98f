import type { StreamOwner, StreamOwnerStates } from "@signet/kernel/messaging/stream-owner"
import { expect, test } from "vitest"
import { freshId } from "../../../../store/postgres/testing/people.ts"
import { createEndings } from "./alive.ts"

const clock = { nowMs: () => 1_000 }
const owner = (): StreamOwner => ({ deviceId: freshId("dev"), sessionId: freshId("ses") })

test("streams that beat together are asked about in one question, and each gets its own answer", async () => {
  const asked: number[] = []
  const endings = createEndings(async (owners) => {
    asked.push(owners.length)
    return new Map<number, StreamOwnerStates>([
      [1, { device: "REVOKED", session: "ACTIVE" }],
      [2, { device: "ACTIVE", session: undefined }],
      [3, { device: "ACTIVE", place: "MOVED", session: null }],
    ])
  }, clock)
  const found = await Promise.all([owner(), owner(), owner(), owner()].map(endings))
  expect(found.map((refused) => refused?.reason)).toEqual([
    undefined,
    "DEVICE_REVOKED",
    "SESSION_REVOKED",
    "PLACE_HELD",
  ])
  await endings(owner())
  expect(asked).toEqual([4, 1])
})

test("a question that fails fails for the streams of that turn only", async () => {
  let turn = 0
  const endings = createEndings(async () => {
    turn++
    if (turn === 1) throw new Error("the database is away")
    return new Map()
  }, clock)
  const first = await Promise.allSettled([endings(owner()), endings(owner())])
  expect(first.map(({ status }) => status)).toEqual(["rejected", "rejected"])
  expect(await endings(owner())).toBeUndefined()
})
