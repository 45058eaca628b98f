import { expect, test } from "vitest"
import { idOf } from "../ids.ts"
import { createRosters } from "./rosters.ts"
import { bytes, leaf } from "./testing/records.ts"

const id = (number: number) => idOf("cnv", bytes(number, 16))
const known = (receipt: number, leaves: number) => ({
  receiptHash: bytes(receipt),
  roster: Array.from({ length: leaves }, (_, i) => leaf(i, i)),
})

test("least recently used rosters are evicted at the limit of leaves", () => {
  const rosters = createRosters(10)
  for (const number of [1, 2, 3]) rosters.put(id(number), known(1, 3))
  rosters.get(id(1))
  rosters.put(id(4), known(1, 4))
  expect([1, 2, 3, 4].map((number) => rosters.get(id(number))?.roster.length)).toEqual([3, undefined, 3, 4])
  rosters.put(id(5), known(1, 11))
  expect(rosters.get(id(5))).toBeUndefined()
})
