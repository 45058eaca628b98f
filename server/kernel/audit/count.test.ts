import { expect, test } from "vitest"
import { mostBuckets, parseBuckets } from "./count.ts"

type Asked = Parameters<typeof parseBuckets>

test.each<[string, Asked, number]>([
  ["a range without a width is one bucket", [1_000, 61_500, 0], 60_500],
  ["a width is in seconds", [0, 7_200_000, 3_600], 3_600_000],
  ["a bucket may be longer than the range", [0, 1, 60], 60_000],
  ["the largest number of buckets is accepted", [0, mostBuckets * 1_000, 1], 1_000],
])("%s", (_, asked, widthMs) => {
  const [fromMs, untilMs] = asked
  expect(parseBuckets(...asked)).toEqual({ fromMs, untilMs, widthMs })
})

const tooMany = "bucket_seconds: the time range has 1001 buckets, and at most 1000 are allowed"

test.each<[string, Asked, string, string]>([
  ["a range that ends before it starts", [2, 1, 60], "end_time", "end_time: must be after start_time"],
  ["an empty range", [1, 1, 0], "end_time", "end_time: must be after start_time"],
  ["one bucket too many, also a shorter one", [0, mostBuckets * 1_000 + 1, 1], "bucket_seconds", tooMany],
])("%s is refused, by the name of the field and the rule", (_, asked, field, message) => {
  const refused = expect.objectContaining({ reason: "INVALID_FIELD", message, metadata: { field } })
  expect(() => parseBuckets(...asked)).toThrow(refused)
})
