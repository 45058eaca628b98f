import { expect, test } from "vitest"
import { issueDeviceList, placeAfter, verifyDeviceList } from "./device-list.ts"
import { codeOf, codeOfAsync } from "./testing/code-of.ts"
import * as world from "./testing/world.ts"

const { listBytes, listFields, listKey, listExpectation, bytes32 } = world
const list = verifyDeviceList(listBytes, listExpectation)
const other = await issueDeviceList({ ...listFields, issuedAt: listFields.issuedAt + 1n }, listKey)
const otherHash = verifyDeviceList(other, listExpectation).hash

test.each([
  ["the first that is seen is taken", undefined, "first"],
  ["the very same again is the same", { version: 3n, hash: list.hash }, "same"],
  ["the next names the one before", { version: 2n, hash: listFields.previousHash }, "next"],
  ["after a gap, nothing proves the descent", { version: 1n, hash: bytes32(1) }, "gap"],
] as const)("%s", (_, seen, place) => {
  expect(placeAfter(seen, list)).toBe(place)
})

test.each([
  ["an older list is a rollback", { version: 4n, hash: bytes32(1) }, "LIST_ROLLBACK"],
  ["another list of the same version is a fork", { version: 3n, hash: otherHash }, "DEVICE_LIST_FORK"],
  ["a next list after another predecessor is a fork", { version: 2n, hash: bytes32(1) }, "DEVICE_LIST_FORK"],
] as const)("%s", (_, seen, code) => {
  expect(codeOf(() => placeAfter(seen, list))).toBe(code)
})

test("a list that clients would refuse is not issued", async () => {
  const [entry] = listFields.entries
  const entries = entry === undefined ? [] : [entry, { ...entry, credentialHash: bytes32(1) }]
  expect(await codeOfAsync(() => issueDeviceList({ ...listFields, entries }, listKey))).toBe("LIST_MALFORMED")
  expect(await codeOfAsync(() => issueDeviceList({ ...listFields, listVersion: 1n }, listKey))).toBe("LIST_MALFORMED")
})
