// The members after a commit, and whether it renews its committer's leaf.
import { Refused } from "@signet/kernel/errors"
import { bytes, conversation, leaf, messagingDevice } from "@signet/kernel/messaging/testing/records"
import { expect, test } from "vitest"
import { detailsOf } from "../../../../serving/call/detailed.ts"
import type { MembershipChange } from "./change.ts"
import type { Judge } from "./judge.ts"
import { nextRoster, renewsLeaf } from "./verify-commit.ts"

const committer = leaf(0, 10)
const none: MembershipChange = { added: [], removed: [], renewed: null, membership: null }
// Only the fields of an added leaf that the roster has.
const adding = (number: number) => ({ ...none, added: [leaf(3, number)] as unknown as MembershipChange["added"] })

const rosterOf = (
  change: MembershipChange,
  more: Partial<Judge["conversation"]> = {},
  begins: Judge["begins"] = null,
) => nextRoster({ conversation: { ...conversation, ...more }, begins }, committer, change)

function refusal(work: () => unknown): Refused {
  try {
    work()
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  }
  return expect.fail("not refused")
}

test("a commit changes the members, and a first commit begins with its committer", () => {
  expect(rosterOf(none)).toEqual(conversation.roster)
  expect(rosterOf(adding(30)).map(({ deviceId }) => deviceId)).toHaveLength(4)
  expect(rosterOf(none, {}, "create")).toEqual([committer])
  const renewed = { ...committer, credentialHash: bytes(11) }
  expect(rosterOf({ ...none, renewed })[0]).toMatchObject({ leafIndex: 0, credentialHash: bytes(11) })
})

test("a commit with too many or wrong members is refused", () => {
  const full = refusal(() => rosterOf(adding(30), { maxLeaves: 3 }))
  expect(full.reason).toBe("LIMIT_EXCEEDED")
  expect(detailsOf(full).map(({ value }) => value)).toMatchObject([{ limit: "leaves_per_conversation", max: 3n }])
  expect(refusal(() => rosterOf(adding(20))).reason).toBe("GHOST_MEMBER")
  expect(refusal(() => rosterOf(adding(30), { kind: "DIRECT" })).reason).toBe("MEMBERSHIP_CHANGE_NOT_ALLOWED")
})

test("only a path with the newest credential of the device renews a leaf that has a former one", () => {
  const renews = (own: number, renewed: number | null) => {
    const roster = conversation.roster.map((one, i) => (i === 0 ? { ...one, credentialHash: bytes(own) } : one))
    const change = { ...none, renewed: renewed === null ? null : { ...committer, credentialHash: bytes(renewed) } }
    return renewsLeaf({ conversation: { ...conversation, roster }, device: messagingDevice(10) }, change)
  }
  const [newest, former, first] = [10, 11, 12]
  expect(renews(former, newest)).toBe(true)
  expect(renews(newest, newest)).toBe(false)
  expect(renews(newest, former)).toBe(false)
  expect(renews(first, former)).toBe(false)
  expect(renews(former, null)).toBe(false)
})
