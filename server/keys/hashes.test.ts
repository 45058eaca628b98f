import * as portable from "@noble/hashes/sha2.js"
import { expect, test } from "vitest"
import { sha256, sha512 } from "./hashes.ts"

const texts = [0, 1, 55, 56, 63, 64, 111, 112, 127, 128, 1_000].map((length) => new Uint8Array(length).fill(length))

test("equals the portable hashes, at once and in parts", () => {
  for (const text of texts) {
    expect(sha256(text)).toEqual(portable.sha256(text))
    expect(sha512(text)).toEqual(portable.sha512(text))
    const parts = sha256.create().update(text.subarray(0, 10)).update(text.subarray(10))
    expect(parts.digest()).toEqual(portable.sha256(text))
  }
})
