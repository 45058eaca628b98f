import { request } from "node:http"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { credentials, startTestS3, type TestS3 } from "../../test/support/s3.ts"
import { createS3Blobs, type S3Settings } from "./s3.ts"

let s3: TestS3
let nowMs = Date.UTC(2026, 0, 31, 23, 59, 59)
beforeAll(async () => {
  s3 = await startTestS3(() => nowMs)
})
afterAll(() => s3?.close())
beforeEach(() => {
  s3.objects.clear()
  s3.requests.length = 0
  s3.failNext = null
})

const open = (change: Partial<S3Settings> = {}) =>
  createS3Blobs({
    ...credentials,
    endpoint: s3.url,
    presignedSeconds: 900,
    timeoutMs: 2_000,
    nowMs: () => nowMs,
    ...change,
  })
const key = "att/att_00000000000000000000000000/7"
const bytes = Uint8Array.of(1, 2, 3)
const reasonOf = (call: Promise<unknown>) => call.then(() => "done").catch((error) => error.reason)

describe("a bucket", () => {
  test("stores, returns and deletes a blob", async () => {
    const blobs = open()
    expect([await blobs.get(key), await blobs.size(key)]).toEqual([undefined, undefined])
    await blobs.put(key, bytes)
    expect([...s3.objects.keys()]).toEqual([`/parts/${key}`])
    expect([await blobs.get(key), await blobs.size(key)]).toEqual([bytes, 3])
    await blobs.put(key, Uint8Array.of(4))
    expect(await blobs.get(key)).toEqual(Uint8Array.of(4))
    await blobs.delete(key)
    await blobs.delete(key)
    expect(await blobs.get(key)).toBeUndefined()
  })

  test.each<[string, Partial<S3Settings>]>([
    ["another secret", { secret: "guessed" }],
    ["another key", { keyId: "AKOTHER" }],
    ["another region", { region: "test-2" }],
    ["a clock that is 16 minutes off", { nowMs: () => nowMs - 960_000 }],
    ["another bucket", { bucket: "others" }],
    ["nobody there", { endpoint: "http://127.0.0.1:1" }],
  ])("is UNAVAILABLE with %s", async (_, change) => {
    const blobs = open(change)
    expect(await reasonOf(blobs.put(key, bytes))).toBe("UNAVAILABLE")
    expect(await reasonOf(blobs.get(key))).toBe("UNAVAILABLE")
    expect(s3.objects.size).toBe(0)
  })

  test.each<[number, string, string]>([
    [507, "XMinioStorageFull", "STORAGE_FULL"],
    [403, "QuotaExceeded", "STORAGE_FULL"],
    [503, "SlowDown", "UNAVAILABLE"],
    [307, "TemporaryRedirect", "UNAVAILABLE"],
    [404, "NoSuchKey", "UNAVAILABLE"],
  ])("that answers %d %s to a part is %s", async (status, code, reason) => {
    s3.failNext = { status, code }
    expect(await reasonOf(open().put(key, bytes))).toBe(reason)
  })

  test("that sends more than a part is not read to its end", async () => {
    s3.failNext = { status: 200, code: "", body: Buffer.alloc(1_048_577) }
    expect(await reasonOf(open().get(key))).toBe("UNAVAILABLE")
  })

  test.each(["../secret", "att/../x", "/att/x", "att//x", "ATT/x", "att/x?y", "att/%2e", "", "a".repeat(129)])(
    "refuses the key %j",
    async (bad) => {
      expect(await reasonOf(open().put(bad, bytes))).not.toBe("done")
      await expect(open().presign("GET", bad, 1)).rejects.toThrow("invalid blob key")
      expect(s3.requests).toEqual([])
    },
  )
})

describe("an address", () => {
  const put = (url: string, body: Uint8Array) =>
    new Promise<number>((resolve, reject) => {
      const sent = request(url, { method: "PUT", headers: { "content-length": body.length } }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.on("error", reject)
      sent.end(body)
    })

  test("permits the upload and the download of exactly one part", async () => {
    const blobs = open()
    const url = (await blobs.presign("PUT", key, 3)) ?? ""
    expect(await put(url, Uint8Array.of(1, 2, 3, 4))).toBe(403)
    expect(await put(url, bytes)).toBe(200)
    const address = (await blobs.presign("GET", key, 3)) ?? ""
    expect(new Uint8Array(await (await fetch(address)).arrayBuffer())).toEqual(bytes)
    expect(address).not.toContain(credentials.secret)
  })

  test.each<[string, (url: string) => string]>([
    ["another part", (url) => url.replace("/7?", "/8?")],
    ["another attachment", (url) => url.replace("att_00", "att_01")],
    ["a longer time", (url) => url.replace("Expires=900", "Expires=90000")],
    ["a later time", (url) => url.replace("T235959Z", "T235958Z")],
    ["one more parameter", (url) => `${url}&x=y`],
    [
      "another signature",
      (url) => url.replace(/Signature=./, (one) => (one.endsWith("0") ? "Signature=1" : "Signature=0")),
    ],
    ["no signature", (url) => url.replace(/&X-Amz-Signature=\w+/, "")],
  ])("permits nothing else: %s", async (_, tamper) => {
    const blobs = open()
    await blobs.put(key, bytes)
    const url = (await blobs.presign("GET", key, 3)) ?? ""
    expect(tamper(url)).not.toBe(url)
    expect((await fetch(tamper(url))).status).toBe(403)
    expect((await fetch(url, { method: "DELETE" })).status).toBe(403)
    expect((await fetch(url)).status).toBe(200)
  })

  test("expires", async () => {
    const blobs = open()
    await blobs.put(key, bytes)
    const url = (await blobs.presign("GET", key, 3)) ?? ""
    nowMs += 900_000
    expect((await fetch(url)).status).toBe(200)
    nowMs += 1_000
    expect((await fetch(url)).status).toBe(403)
  })
})
