import fc from "fast-check"
import { expect, test } from "vitest"
import { hex } from "./bytes.ts"
import { rosterAfter, rosterFault } from "./roster.ts"
import { bytes, conversation, device, leaf, user } from "./testing/records.ts"

const none = { removed: [], added: [], committer: null }
const newLeaf = (number: number) => ({
  deviceId: device(number),
  userId: user(Math.floor(number / 10)),
  credentialHash: bytes(number),
})

test("an added device gets the leftmost free leaf, in order (RFC 9420 section 7.7)", () => {
  const roster = [leaf(0, 10), leaf(2, 21), leaf(5, 30)]
  const after = rosterAfter(roster, { ...none, added: [40, 41, 42, 43].map(newLeaf) }, 9n)
  expect(after.map(({ leafIndex, deviceId }) => [leafIndex, deviceId])).toEqual(
    [
      [0, 10],
      [1, 40],
      [2, 21],
      [3, 41],
      [4, 42],
      [5, 30],
      [6, 43],
    ].map(([at = 0, id = 0]) => [at, device(id)]),
  )
  expect(after[1]?.joinedEpoch).toBe(9n)
})

test("a path may carry a renewed credential of the same device", () => {
  const [own] = rosterAfter(
    conversation.roster,
    { ...none, committer: { leafIndex: 0, credentialHash: bytes(99) } },
    4n,
  )
  expect(own).toEqual({ ...leaf(0, 10), credentialHash: bytes(99) })
})

test("leaves keep their indexes, which are unique", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(40), { maxLength: 20 }),
      fc.uniqueArray(fc.nat(40), { maxLength: 20 }),
      fc.uniqueArray(fc.integer({ min: 50, max: 90 }), { maxLength: 20 }),
      (there, removed, added) => {
        const roster = there.map((index) => leaf(index, index))
        const after = rosterAfter(roster, { ...none, removed, added: added.map(newLeaf) }, 2n)
        expect(new Set(after.map(({ leafIndex }) => leafIndex)).size).toBe(after.length)
        const staying = roster.filter(({ leafIndex }) => !removed.includes(leafIndex))
        expect(after.length).toBe(staying.length + added.length)
        for (const one of staying)
          expect(after.find((other) => hex(other.credentialHash) === hex(one.credentialHash))).toEqual(one)
      },
    ),
  )
})

test.each<[string, Parameters<typeof rosterFault>, ReturnType<typeof rosterFault>]>([
  ["members are well", [conversation, conversation.roster], undefined],
  ["too many are", [{ ...conversation, maxLeaves: 2 }, conversation.roster], "LIMIT_EXCEEDED"],
  ["as many as may be are", [{ ...conversation, maxLeaves: 3 }, conversation.roster], undefined],
  [
    "a device has one leaf",
    [conversation, [leaf(0, 10), { ...leaf(1, 10), credentialHash: bytes(11) }]],
    "GHOST_MEMBER",
  ],
  [
    "a credential is in one leaf",
    [conversation, [leaf(0, 10), { ...leaf(1, 11), credentialHash: bytes(10) }]],
    "GHOST_MEMBER",
  ],
  ["a group may have a third user", [conversation, [leaf(0, 10), leaf(1, 30)]], undefined],
  [
    "a third user of two",
    [{ ...conversation, kind: "DIRECT" }, [leaf(0, 10), leaf(1, 30)]],
    "MEMBERSHIP_CHANGE_NOT_ALLOWED",
  ],
  ["one of two users may be without a device", [{ ...conversation, kind: "DIRECT" }, [leaf(0, 10)]], undefined],
])("%s", (_, [where, roster], expected) => {
  expect(rosterFault(where, roster)).toBe(expected)
})
