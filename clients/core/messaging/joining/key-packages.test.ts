import { KeyPackageRecordSchema } from "@signet/proto/client/v1/records"
import { expect, test } from "vitest"
import { hex, utf8 } from "../crypto/bytes.ts"
import { openMemoryStore } from "../store/memory.ts"
import { sealedRows } from "../store/sealed-rows.ts"
import { deviceSpace } from "../store/store.ts"
import { testBox } from "../testing/test-box.ts"
import { findKeyPackage, useOps } from "./key-packages.ts"

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
