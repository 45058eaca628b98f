import { expect, test } from "vitest"
import { createAuditCrypto } from "./audit-crypto.ts"

const key = (fill: number) => new Uint8Array(32).fill(fill)
const seals = createAuditCrypto(key(1))

test("personal fields open under their key and label only", () => {
  const sealed = seals.seal(key(2), "audit-personal|evt_1", "text")
  expect(seals.open(key(2), "audit-personal|evt_1", sealed)).toBe("text")
  expect(seals.open(key(3), "audit-personal|evt_1", sealed)).toBeUndefined()
  expect(seals.open(key(2), "audit-personal|evt_2", sealed)).toBeUndefined()
})

test("hashes and stamps of another length are unequal, not an error", () => {
  expect([seals.equal(key(1), key(1)), seals.equal(key(1), key(2)), seals.equal(key(1), new Uint8Array(31))]).toEqual([
    true,
    false,
    false,
  ])
  const stamp = seals.stamp("row")
  expect(seals.stampedBy("row", stamp)).toBeDefined()
  for (const other of [stamp.slice(1), new Uint8Array(), seals.stamp("other")]) {
    expect(seals.stampedBy("row", other)).toBeUndefined()
  }
})
