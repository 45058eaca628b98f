import { expect, test } from "vitest"
import { idOf } from "../ids.ts"
import { createRosters } from "./rosters.ts"
import { bytes, leaf } from "./testing/records.ts"

const id = (number: number) => idOf("cnv", bytes(number, 16))
const known = (epoch: number, leaves: number) => ({
  epoch,
  roster: Array.from({ length: leaves }, (_, i) => leaf(i, i)),
})

test("least recently used rosters are evicted at the limit of leaves", () => {
  const rosters = createRosters(10)
  for (const number of [1, 2, 3]) rosters.put(id(number), known(1, 3))
  rosters.get(id(1))
  rosters.put(id(4), known(1, 4))
  expect([1, 2, 3, 4].map((number) => rosters.get(id(number))?.epoch)).toEqual([1, undefined, 1, 1])
  rosters.put(id(5), known(1, 11))
  expect(rosters.get(id(5))).toBeUndefined()
})

test("an older roster does not replace a newer one", () => {
  const rosters = createRosters(10)
  rosters.put(id(1), known(2, 1))
  rosters.put(id(1), known(1, 5))
  expect(rosters.get(id(1))).toEqual(known(2, 1))
  rosters.put(id(1), known(3, 10))
  expect(rosters.get(id(1))?.epoch).toBe(3)
})
