import { createHmac, hkdfSync, randomBytes } from "node:crypto"
import { newId } from "@signet/kernel/ids"
import { signingKeyLabel } from "@signet/kernel/keys/sealed-columns"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createSecrets } from "./secrets.ts"

const key = (fill: number) => new Uint8Array(32).fill(fill)
const old = { version: 1, key: key(1) }
const current = { version: 2, key: key(2) }
const secrets = createSecrets({ peppers: [old, current], sealingKey: key(9) })
const labelOf = (kid: string) => signingKeyLabel({ kid, purpose: "ACCESS" })
const rowId = newId("rtk", 1, new Uint8Array(10))
const of = { tokenId: rowId, token: `sgrt_${"A".repeat(50)}`, retryKey: "0123456789abcdef" }

describe("a hash", () => {
  test("is made under the newest pepper, wherever it stands in the list", () => {
    const expected = createHmac("sha256", current.key).update("refresh-token\0token").digest()
    expect(Buffer.from(secrets.hash("refresh-token", "token"))).toEqual(expected)
    const other = createSecrets({ peppers: [current, old], sealingKey: key(9) })
    expect(other.hash("refresh-token", "token")).toEqual(secrets.hash("refresh-token", "token"))
  })

  test("under a former pepper is among the look-up hashes", () => {
    const before = createSecrets({ peppers: [old], sealingKey: key(9) }).hash("refresh-token", "token")
    const hashes = secrets.hashes("refresh-token", "token")
    expect(hashes).toHaveLength(2)
    expect(hashes[0]).toEqual(secrets.hash("refresh-token", "token"))
    expect(hashes[1]).toEqual(before)
  })

  test("differs without the pepper", () => {
    const stranger = createSecrets({ peppers: [{ version: 2, key: key(3) }], sealingKey: key(9) })
    expect(secrets.hashes("refresh-token", "token")).not.toContainEqual(stranger.hash("refresh-token", "token"))
  })

  test("differs for each purpose, whatever the text", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(secrets.hash("refresh-token", a)).not.toEqual(secrets.hash("retry-key", b))
        expect(secrets.hash("retry-key", a)).not.toEqual(secrets.hash("page-token", b))
      }),
    )
  })
})

test("hashes of different lengths are unequal, not an error", () => {
  expect(secrets.equal(key(1), key(1))).toBe(true)
  expect(secrets.equal(key(1), key(2))).toBe(false)
  expect(secrets.equal(key(1), new Uint8Array(31))).toBe(false)
})

describe("a sealed successor", () => {
  test("opens for the same token, retry key and row", () => {
    expect(secrets.openSuccessor(of, secrets.sealSuccessor(of, "sgrt_next"))).toBe("sgrt_next")
  })

  test("opens for a service whose own keys have all changed, because they are no part of it", () => {
    const other = createSecrets({ peppers: [{ version: 7, key: key(7) }], sealingKey: key(8) })
    expect(other.openSuccessor(of, secrets.sealSuccessor(of, "sgrt_next"))).toBe("sgrt_next")
  })

  test("is sealed under HKDF-SHA-256(token || retry key, rt-successor|row id)", async () => {
    const derived = hkdfSync("sha256", of.token + of.retryKey, "", `rt-successor|${rowId}`, 32)
    const aesKey = await crypto.subtle.importKey("raw", derived, "AES-GCM", false, ["decrypt"])
    const sealed = Uint8Array.from(secrets.sealSuccessor(of, "sgrt_next"))
    const opened = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv: sealed.subarray(1, 13) },
      aesKey,
      sealed.subarray(13),
    )
    expect(Buffer.from(opened).toString()).toBe("sgrt_next")
  })

  test.each([
    ["another token", { ...of, token: `sgrt_${"B".repeat(50)}` }],
    ["another retry key", { ...of, retryKey: "0123456789abcdeF" }],
    ["another row", { ...of, tokenId: newId("rtk", 2, new Uint8Array(10)) }],
  ])("does not open for %s", (_, other) => {
    expect(secrets.openSuccessor(other, secrets.sealSuccessor(of, "sgrt_next"))).toBeUndefined()
  })
})

describe("a value that is sealed under the service's key", () => {
  test("opens under its label, and never seals to the same bytes twice", () => {
    const plaintext = new Uint8Array(randomBytes(200))
    const first = secrets.seal(labelOf("a"), plaintext)
    expect(secrets.open(labelOf("a"), first)).toEqual(plaintext)
    expect(secrets.seal(labelOf("a"), plaintext)).not.toEqual(first)
  })

  test("opens under no other label and under no other key", () => {
    const sealed = secrets.seal(labelOf("a"), key(5))
    const other = createSecrets({ peppers: [old], sealingKey: key(10) })
    expect(secrets.open(labelOf("b"), sealed)).toBeUndefined()
    expect(secrets.open("" as never, sealed)).toBeUndefined()
    expect(other.open(labelOf("a"), sealed)).toBeUndefined()
  })

  test("does not open if a bit has changed or a part is missing", () => {
    const sealed = secrets.seal(labelOf("label"), key(5))
    fc.assert(
      fc.property(fc.nat(sealed.length * 8 - 1), (bit) => {
        const changed = Uint8Array.from(sealed)
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(secrets.open(labelOf("label"), changed)).toBeUndefined()
      }),
    )
    for (let length = 0; length < sealed.length; length++) {
      expect(secrets.open(labelOf("label"), sealed.subarray(0, length))).toBeUndefined()
    }
  })
})

test.each([
  ["no pepper", { peppers: [], sealingKey: key(1) }],
  ["a short pepper", { peppers: [{ version: 1, key: new Uint8Array(31) }], sealingKey: key(1) }],
  ["two peppers of one version", { peppers: [old, { version: 1, key: key(4) }], sealingKey: key(1) }],
  ["a short sealing key", { peppers: [old], sealingKey: new Uint8Array(16) }],
])("the program does not start with %s", (_, options) => {
  expect(() => createSecrets(options)).toThrow(RangeError)
})
