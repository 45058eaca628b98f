import { expect, test } from "vitest"
import { fromText, toText } from "./plain.ts"

const same = (value: unknown) => expect(fromText(toText(value))).toEqual(value)

test("bytes, bigints and undefined elements are kept, at any depth", () => {
  same({ a: Uint8Array.of(0, 255), b: [1n, undefined, { c: -(2n ** 70n) }], d: null, e: "", f: true, g: 0.5 })
  same([])
  same({})
})

test.each(["$bytes", "$bigint", "$undefined", "$$bytes", "$", "$$"])("data under the key %s stays data", (key) => {
  same({ [key]: "AAAA" })
  same([{ [key]: { [key]: "7" } }])
  same({ [key]: Uint8Array.of(1), other: 2 })
})
