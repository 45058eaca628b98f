import { KeyPackageRecordSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import type { Context } from "../context.ts"
import { hex, utf8 } from "../crypto/bytes.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { deviceSpace } from "../store/store.ts"
import { scripted } from "../testing/scripted.ts"
import { testBox } from "../testing/test-box.ts"
import { findKeyPackage, refillKeyPackages, useOps } from "./key-packages.ts"

const keyPackageRef = new Uint8Array(32).fill(7)
const key = hex(keyPackageRef)

test.each([
  ["by a welcome", key],
  ["by this welcome, as earlier versions marked it", `${key}:wel_1`],
])("a key package that was used %s is not used again, even if its row was restored", async (_, mark) => {
  const [box, scope, store] = [testBox(), { app: "app", user: "user" }, openMemoryStore()]
  await box.createKey(scope)
  const rows = sealedRows(box, scope)
  const place = { space: deviceSpace, table: "keyPackage", key } as const
  const op = await rows.put(place, KeyPackageRecordSchema, { keyPackage: utf8("a key package") })
  expect(await store.transact(deviceSpace, 0n, [op])).toBe("ok")
  const find = () => findKeyPackage({ store, rows }, { keyPackageRef, id: "wel_1" })
  expect(await find()).toMatchObject({ keyPackage: utf8("a key package") })
  const used = { op: "put", table: "usedKeyPackage", key: mark, value: new Uint8Array() } as const
  expect(await store.transact(deviceSpace, 1n, [used])).toBe("ok")
  expect(await find()).toBeUndefined()
})

test("a key package is used once, and a last resort once per epoch of a group", () => {
  const mark = { op: "create", table: "usedKeyPackage", value: Uint8Array.of(1), space: deviceSpace }
  const at = { groupId: Uint8Array.of(0xab), epoch: 3n }
  expect(useOps(keyPackageRef, false, at)).toEqual([
    { ...mark, key },
    { op: "remove", space: deviceSpace, table: "keyPackage", key },
  ])
  expect(useOps(keyPackageRef, true, at)).toEqual([{ ...mark, key: `${key}:ab:3` }])
})

test("a last resort whose upload was lost is replaced by the next one, and never uploaded beside it or after it", async () => {
  const { conversation } = await scripted()
  const dayMs = 86_400_000
  const uploads: { keyPackage: Uint8Array; isLastResort: boolean }[][] = []
  let isLost = true
  const lastResorts = () => uploads.map((one) => one.filter(({ isLastResort }) => isLastResort))
  const keyPackages = {
    getInventory: async () => ({ inventory: { available: 0, hasLastResort: !isLost, isLow: true, lowWater: 1 } }),
    async uploadKeyPackages({ packages }: { packages: (typeof uploads)[number] }) {
      uploads.push(packages)
      if (isLost) throw new Error("lost on its way there")
    },
  }
  const refill = (days: number) => {
    const calls = { keyPackages } as unknown as Context["calls"]
    const clock = { ...conversation.clock, nowMs: () => conversation.clock.nowMs() + days * dayMs }
    return refillKeyPackages({ ...conversation, calls, clock, keyPackageTarget: 2 })
  }
  await expect(refill(0)).rejects.toThrow("lost")
  await expect(refill(40)).rejects.toThrow("lost")
  isLost = false
  await refill(41)
  await refill(42)
  const counts = lastResorts().map((one) => one.length)
  expect(counts).toEqual([1, 1, 1, 0])
  const [first, second, third] = lastResorts().map(([one]) => one?.keyPackage)
  expect(second).not.toEqual(first)
  expect(third).toEqual(second)
})
