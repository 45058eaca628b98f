import type { ConversationId, DeviceId } from "@signet/kernel/ids"
import { expect, test } from "vitest"
import { createAttendance } from "./attendance.ts"

const conversation = "cnv_1" as ConversationId

function world() {
  const written: string[] = []
  const time = { nowMs: 1_000_000 }
  const store = { conversations: { touch: async (_: ConversationId, device: DeviceId) => written.push(device) } }
  const attendance = createAttendance({ store: store as never, clock: { nowMs: () => time.nowMs } })
  return { written, time, touch: (device: string) => attendance.touch(conversation, device as DeviceId) }
}

test("a device that is online is recorded at most once in ten seconds", async () => {
  const { written, time, touch } = world()
  await touch("dev_1")
  await touch("dev_2")
  time.nowMs += 9_999
  await touch("dev_1")
  expect(written).toEqual(["dev_1", "dev_2"])
  time.nowMs += 1
  await touch("dev_1")
  expect(written).toEqual(["dev_1", "dev_2", "dev_1"])
})

test("the ten-thousand-and-first device evicts the oldest one only", async () => {
  const { written, touch } = world()
  for (let i = 0; i <= 10_000; i++) await touch(`dev_${i}`)
  await touch("dev_1")
  expect(written).toHaveLength(10_001)
  await touch("dev_0")
  expect(written.slice(10_001)).toEqual(["dev_0"])
})
