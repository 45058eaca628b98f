import { concat } from "@signet/canonical/bytes"
import { expect, test } from "vitest"
import { plaintextOf, sealedAttachment, somewhere } from "../testing/attachment-bytes.ts"
import { chunkCipher } from "./chunk-cipher.ts"
import { headerBytes, layoutOf, tagBytes } from "./layout.ts"
import { sealChunk, sealRange } from "./source.ts"

const chunk = 4_096
const sealedChunk = chunk + tagBytes

test("a source that returns fewer bytes than its size is not uploaded, although padding is zero, too", async () => {
  const plaintext = plaintextOf(chunk + 10).with(-1, 0)
  const { manifest } = await sealedAttachment(plaintext)
  const layout = layoutOf(plaintext.length, chunk) ?? expect.fail("a size")
  const cipher = await chunkCipher(manifest, somewhere, layout, new Uint8Array(7).fill(7))
  const short = { size: plaintext.length, slice: (from: number) => new Blob([plaintext.slice(from, from + 9)]) }
  await expect(sealChunk(cipher, layout, short, 1)).rejects.toMatchObject({ reason: "ATTACHMENT_SOURCE_CHANGED" })
})

test("a changed source is not uploaded: one key and nonce never encrypt two plaintexts", async () => {
  const before = plaintextOf(3 * chunk)
  const { manifest, ciphertext } = await sealedAttachment(before)
  const layout = layoutOf(before.length, chunk) ?? expect.fail("a size")
  const cipher = await chunkCipher(manifest, somewhere, layout, new Uint8Array(7).fill(7))
  const tags = concat(
    ...[1, 2, 3].map((i) => ciphertext.slice(headerBytes + i * sealedChunk - tagBytes).slice(0, tagBytes)),
  )
  const range = { from: 0, to: ciphertext.length }
  expect(await sealRange(cipher, layout, new Blob([before]), tags, range)).toEqual(ciphertext)
  expect(await sealRange(cipher, layout, new Blob([before]), tags, { from: 4_000, to: 9_000 })).toEqual(
    ciphertext.slice(4_000, 9_000),
  )
  const changed = before.slice()
  changed[2 * chunk] = (changed[2 * chunk] ?? 0) ^ 1
  const sources = [
    new Blob([changed]),
    new Blob([before.slice(1)]),
    { size: before.length, slice: () => ({ arrayBuffer: () => Promise.reject(new Error("gone")) }) },
  ]
  for (const source of sources) {
    await expect(sealRange(cipher, layout, source, tags, range)).rejects.toMatchObject({
      reason: "ATTACHMENT_SOURCE_CHANGED",
    })
  }
})
