import "../../testing/global-host.ts"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort, isLong } from "../../../../test/support/effort.ts"
import { AbortController, AbortSignal } from "./abort.ts"
import { cryptoGlobal } from "./crypto.ts"
import { Headers } from "./headers.ts"
import { ReadableStream } from "./readable-stream.ts"
import { TextDecoder } from "./text.ts"
import { URL as OwnUrl } from "./url.ts"

const parts = ["protocol", "username", "password", "hostname", "port", "search", "hash", "origin"] as const

/** A text that is refused, or read as the URL standard reads it. */
function expectSame(text: string): void {
  if (!OwnUrl.canParse(text)) return
  const [own, standard] = [new OwnUrl(text), new URL(text)]
  for (const part of parts) expect([part, own[part]]).toEqual([part, standard[part]])
}

describe("URL", () => {
  test.each([
    ["https://auth.example.com", true],
    ["https://auth.example.com:8443/a/b?c=d&e=%20f+g#h", true],
    ["http://127.0.0.1:80/", true],
    ["http://[::1]:8080", true],
    ["https://user:secret@example.com/", false],
    ["https://127.1/", false],
    ["https://2130706433/", false],
    ["https://0x7f.0.0.1/", false],
    ["https://127.0.0.256/", false],
    ["https://192.168.0.1:8080/", true],
    ["https://example.com\\@evil.example", false],
    ["https://exam ple.com", false],
    ["https://example.com:99999", false],
    ["//example.com", false],
    ["javascript:alert(1)", false],
    ["https://ex\u00e4mple.com", false],
    ["", false],
  ])("%s", (text, isAccepted) => {
    expect(OwnUrl.canParse(text)).toBe(isAccepted)
    expectSame(text)
  })

  test.runIf(isLong)("reads what it accepts as the standard does", () => {
    const numRuns = effort(20, 200, 2_000)
    fc.assert(fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), expectSame), { numRuns })
    const noise = fc.string({ unit: fc.constantFrom(..."ab0:/@?#&=%.[]\\-+ '\"<>`|") })
    fc.assert(fc.property(noise, (rest) => expectSame(`https://h${rest}`)))
  })

  test("sets parameters as the standard does", () => {
    const pairs = fc.array(fc.tuple(fc.string({ minLength: 1, unit: "grapheme" }), fc.string({ unit: "grapheme" })))
    fc.assert(
      fc.property(pairs, (all) => {
        const [own, standard] = [new OwnUrl("https://a.example/p?x=1"), new URL("https://a.example/p?x=1")]
        for (const [name, value] of all) {
          own.searchParams.set(name, value)
          standard.searchParams.set(name, value)
        }
        expect(own.href).toBe(standard.href)
        expect(new OwnUrl(own.href).searchParams.getAll("x")).toEqual(standard.searchParams.getAll("x"))
      }),
    )
  })
})

test("headers are case-insensitive, and joined", () => {
  const headers = new Headers([["A", "1"]])
  headers.append("a", "2")
  headers.set("B", "3")
  expect([headers.get("A"), headers.get("b"), headers.get("c")]).toEqual(["1, 2", "3", null])
  expect([...new Headers(headers)]).toEqual([...headers])
  expect([...new Headers({ X: "y" }).keys()]).toEqual(["x"])
  headers.delete("a")
  expect(headers.has("a")).toBe(false)
})

test("an abort is reported once, to combined signals, too", () => {
  const controller = new AbortController()
  const combined = AbortSignal.any([new AbortController().signal, controller.signal])
  const heard: unknown[] = []
  combined.addEventListener("abort", () => heard.push(combined.reason))
  controller.abort("first")
  controller.abort("second")
  expect([heard, combined.aborted, AbortSignal.any([controller.signal]).aborted]).toEqual([["first"], true, true])
  expect(() => combined.throwIfAborted()).toThrow("first")
})

test("a stream that is left is canceled, and one that is read to its end is not", async () => {
  const canceled: string[] = []
  const streamOf = (name: string) => {
    let n = 0
    return new ReadableStream<number>({
      pull: (controller) => (n === 3 ? controller.close() : controller.enqueue(++n)),
      cancel: () => void canceled.push(name),
    })
  }
  const all: number[] = []
  for await (const piece of streamOf("read")) all.push(piece)
  for await (const _ of streamOf("left")) break
  expect([all, canceled]).toEqual([[1, 2, 3], ["left"]])
})

test("AES-GCM and SHA-256 are WebCrypto's", async () => {
  const { subtle } = cryptoGlobal
  const [raw, iv, data] = [new Uint8Array(32).fill(1), new Uint8Array(12).fill(2), new Uint8Array([3, 4, 5])]
  const parameters = { name: "AES-GCM", iv, additionalData: data }
  const sealed = await subtle.encrypt(parameters, await subtle.importKey("raw", raw, "AES-GCM"), data)
  const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["decrypt"])
  expect(new Uint8Array(await crypto.subtle.decrypt(parameters, key, sealed))).toEqual(data)
  const bent = new Uint8Array(sealed)
  bent[0] = (bent[0] ?? 0) ^ 1
  await expect(subtle.decrypt(parameters, await subtle.importKey("raw", raw, "AES-GCM"), bent)).rejects.toThrow(
    "failed",
  )
  expect(await subtle.digest("SHA-256", data)).toEqual(await crypto.subtle.digest("SHA-256", data))
  await expect(subtle.digest("SHA-1", data)).rejects.toThrow("not supported")
})

test("bytes that are no UTF-8 are refused", () => {
  expect(() => new TextDecoder().decode(Uint8Array.of(0xff))).toThrow("UTF-8")
})
