import { beforeAll, describe, expect, test } from "vitest"
import { hex } from "../../clients/core/messaging/crypto/bytes.ts"
import { effort } from "../../test/support/effort.ts"
import { numbers, seed } from "../../test/support/random.ts"
import { refusal } from "./testing/bent.ts"
import { type Sample, samples } from "./testing/samples.ts"

let all: Sample[]
beforeAll(async () => {
  all = await samples()
})

/** Everything that a decoder returns, as one string. */
function seen(value: unknown): string {
  return JSON.stringify(value, (_, inside) => {
    if (inside instanceof Uint8Array) return hex(inside)
    if (inside instanceof Map) return [...inside]
    return typeof inside === "bigint" ? `${inside}` : inside
  })
}

function flipped(bytes: Uint8Array, bit: number): Uint8Array {
  const copy = bytes.slice()
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return copy
}

// Every bit in the nightly form; otherwise a part of them, chosen by the seed.
const step = effort(29, 3, 1)
const random = numbers(seed)

test("a message of each kind parses, and its signatures verify", () => {
  expect(all).toHaveLength(8)
  for (const sample of all) {
    expect(refusal(() => sample.parse(sample.bytes))).toBe("read")
    if (sample.verify !== undefined) expect(sample.verify(sample.bytes)).toBe(true)
  }
})

describe("a flipped bit", () => {
  test("is refused, or changes the result", () => {
    for (const { name, bytes, parse } of all) {
      const original = seen(parse(bytes))
      for (let bit = random(step); bit < bytes.length * 8; bit += step) {
        const bent = flipped(bytes, bit)
        if (refusal(() => parse(bent)) !== "read") continue
        if (seen(parse(bent)) === original) expect.fail(`${name}: nobody sees that bit ${bit} was flipped`)
      }
    }
  })

  test("in signed content is refused, or invalidates the signature", () => {
    for (const { name, bytes, parse, verify } of all) {
      if (verify === undefined) continue
      // The tags of a commit follow its signature; members verify them.
      const signed = bytes.length - (name.startsWith("a commit") ? 66 : 0)
      for (let bit = random(step); bit < signed * 8; bit += step) {
        const bent = flipped(bytes, bit)
        if (refusal(() => parse(bent)) !== "read") continue
        if (verify(bent)) expect.fail(`${name}: still signed when bit ${bit} was flipped`)
      }
    }
  })
})

test("a message truncated anywhere, or with an extra byte, is refused", () => {
  for (const { name, bytes, parse } of all) {
    for (let length = 0; length < bytes.length; length++) {
      const code = refusal(() => parse(bytes.subarray(0, length)))
      if (code !== "MLS_MALFORMED") expect.fail(`${name}: ${length} bytes of it are ${code}`)
    }
    const longer = new Uint8Array(bytes.length + 1)
    longer.set(bytes)
    expect(refusal(() => parse(longer))).toBe("MLS_NON_CANONICAL")
  }
})
