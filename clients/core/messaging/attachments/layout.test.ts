import { expect, test } from "vitest"
import { plaintextOf, sealedAttachment, somewhere } from "../testing/attachment-bytes.ts"
import { chunkCipher } from "./chunk-cipher.ts"
import { isPartSize, layoutOf, padme } from "./layout.ts"

const chunk = 4_096

test("sizes are padded to few buckets, by at most an eighth", () => {
  expect([0, 1, 2, 3, 9, 100, 1_000, 4_106, 1_000_000].map(padme)).toEqual([
    0, 1, 2, 3, 10, 104, 1_024, 4_352, 1_015_808,
  ])
  const buckets = new Set<number>()
  for (let size = 1; size <= 100_000; size++) {
    const bucket = padme(size)
    buckets.add(bucket)
    expect(bucket >= size && bucket <= size * 1.125 && padme(bucket) === bucket, `${size}`).toBe(true)
  }
  expect(buckets.size).toBeLessThan(250)
})

test.each<[string, number, boolean]>([
  ["96 MiB", 96 * 1_048_576, true],
  ["100 MiB", 100 * 1_048_576, false],
  ["a negative size", -1, false],
  ["a fraction of a byte", 0.5, false],
])("%s, %d bytes, has a layout: %s", (_, size, fits) => {
  expect(layoutOf(size, 65_536) !== undefined).toBe(fits)
})

test.each<[number, boolean, boolean]>([
  [4_095, false, false],
  [4_096, true, true],
  [5_000.5, false, true],
  [1_048_576, true, true],
  [1_048_577, false, true],
  [8_388_608, false, true],
  [8_388_609, false, false],
])("%d bytes are a valid chunk size: %s, and a valid part size: %s", (size, isChunk, isPart) => {
  expect([layoutOf(1, size) !== undefined, isPartSize(size)]).toEqual([isChunk, isPart])
})

test("a chunk index outside the layout is rejected", async () => {
  const layout = layoutOf(2 * chunk, chunk) ?? expect.fail("a size")
  const cipher = await chunkCipher(
    (await sealedAttachment(plaintextOf(1))).manifest,
    somewhere,
    layout,
    new Uint8Array(7),
  )
  for (const index of [-1, 2]) {
    await expect(cipher.seal(index, new Uint8Array(1))).rejects.toThrow(RangeError)
    await expect(cipher.open(index, new Uint8Array(20))).rejects.toThrow(RangeError)
  }
})
