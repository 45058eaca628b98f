import { expect, test } from "vitest"
import { batchesOf } from "./batches.ts"

test("batches have each id of a kind once, at most 50, and grow at their end", () => {
  const ids = Array.from({ length: 70 }, (_, i) => `prn_${i}`)
  const batches = batchesOf([...ids, "", "ten_1", ...ids], "prn_")
  expect(batches.map(({ length }) => length)).toEqual([50, 20])
  expect(batches.flat()).toEqual(ids)
  expect(batchesOf([...ids, "prn_70"], "prn_")[0]).toEqual(batches[0])
  expect(batchesOf(["ten_1"], "prn_")).toEqual([])
})
