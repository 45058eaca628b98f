// Blobs in the R2 bucket of workerd.
import { randomBytes } from "node:crypto"
import { Miniflare } from "miniflare"
import { afterAll, beforeAll, expect, test } from "vitest"
import { maxBlobBytes } from "../../blobs/key.ts"
import { createR2Blobs } from "./blobs.ts"

const script = "export default { fetch: () => new Response() }"
let worker: Miniflare
let bucket: Awaited<ReturnType<Miniflare["getR2Bucket"]>>

beforeAll(async () => {
  worker = new Miniflare({ modules: true, script, cf: false, r2Buckets: ["BLOBS"] })
  bucket = await worker.getR2Bucket("BLOBS")
})
afterAll(() => worker?.dispose())

const key = "att/att_00000000000000000000000000/7"

test("a bucket stores, returns and deletes blobs", async () => {
  const blobs = createR2Blobs(bucket)
  expect([await blobs.get(key), await blobs.size(key)]).toEqual([undefined, undefined])
  const bytes = new Uint8Array(randomBytes(maxBlobBytes))
  await blobs.put(key, bytes)
  expect(await blobs.size(key)).toBe(maxBlobBytes)
  expect(Buffer.compare((await blobs.get(key)) ?? new Uint8Array(), bytes)).toBe(0)
  await blobs.put(key, Uint8Array.of(4))
  expect(await blobs.get(key)).toEqual(Uint8Array.of(4))
  await blobs.delete(key)
  await blobs.delete(key)
  expect(await blobs.get(key)).toBeUndefined()
  expect(await blobs.presign("PUT", key, 1)).toBeUndefined()
})

test("an oversized blob or an invalid key is refused, and the bucket's faults are not disclosed", async () => {
  const blobs = createR2Blobs(bucket)
  const refused = { reason: "UNAVAILABLE" }
  await expect(blobs.put(key, new Uint8Array(maxBlobBytes + 1))).rejects.toMatchObject(refused)
  await expect(blobs.put("../x", Uint8Array.of(1))).rejects.toMatchObject(refused)
  await bucket.put(key, new Uint8Array(maxBlobBytes + 1))
  await expect(blobs.get(key)).rejects.toMatchObject(refused)
})
