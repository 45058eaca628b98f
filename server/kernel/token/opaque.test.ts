import { randomBytes } from "node:crypto"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { buildOpaque, lookupIdOf, type OpaquePrefix, parseOpaque, randomBase62 } from "./opaque.ts"

const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) }
const prefixes: readonly OpaquePrefix[] = ["sgrt_", "sgpat_", "sgsec_"]
const known = `sgpat_${"0".repeat(12)}${"A".repeat(32)}295c7g`

/** Returns the scripted bytes first, then zeros. */
function scripted(...bytes: number[]) {
  return { bytes: (length: number) => Uint8Array.from({ length }, () => bytes.shift() ?? 0) }
}

describe("an opaque secret", () => {
  test("has the checksum of the published example", () => {
    expect(parseOpaque("sgpat_", known)).toBe(known)
    const bytes = [...Array(12).fill(0), ...Array(32).fill(10)]
    expect(buildOpaque("sgpat_", scripted(...bytes))).toBe(known)
  })

  test.each(prefixes)("that was built parses under its own prefix %s and under no other", (prefix) => {
    const token = buildOpaque(prefix, random)
    expect(token).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{50}$`))
    for (const other of prefixes) expect(parseOpaque(other, token)).toBe(other === prefix ? token : undefined)
  })

  test("never parses when one character is another", () => {
    const character = fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-. \u0430")
    fc.assert(
      fc.property(fc.nat(known.length - 1), character, (at, put) => {
        const changed = known.slice(0, at) + put + known.slice(at + 1)
        expect(parseOpaque("sgpat_", changed)).toBe(changed === known ? known : undefined)
      }),
      { numRuns: effort(1_000, 20_000, 100_000) },
    )
  })

  test.each([
    ["nothing", ""],
    ["the prefix alone", "sgpat_"],
    ["a character too many", `${known}0`],
    ["a character too few", known.slice(0, -1)],
    ["a line end after it", `${known}\n`],
    ["a space before it", ` ${known}`],
    ["another prefix with the same rest", known.replace("sgpat_", "sgrt_")],
    ["the prefix in capitals", known.replace("sgpat_", "SGPAT_")],
  ])("is not %s", (_, text) => {
    for (const prefix of prefixes) expect(parseOpaque(prefix, text)).toBeUndefined()
  })

  test("exposes 12 lookup characters", () => {
    expect(lookupIdOf("sgpat_", known)).toBe("000000000000")
  })
})

describe("random characters", () => {
  test("are uniformly distributed: biased bytes are rejected", () => {
    expect(randomBase62(3, scripted(255, 248, 247, 0, 61, 62))).toBe("z0z")
  })

  test("come from every byte below 248 four times each", () => {
    const text = randomBase62(248, { bytes: () => Uint8Array.from({ length: 256 }, (_, i) => i) })
    const counts = new Map<string, number>()
    for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
    expect(counts.size).toBe(62)
    expect(new Set(counts.values())).toEqual(new Set([4]))
  })
})
