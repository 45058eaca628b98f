import { expect, test } from "vitest"
import { duration } from "./frame.ts"

test.each([
  [1, "1 second"],
  [90, "90 seconds"],
  [60, "1 minute"],
  [900, "15 minutes"],
  [3_600, "1 hour"],
  [5_400, "90 minutes"],
  [172_800, "2 days"],
])("%s seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text)
})
