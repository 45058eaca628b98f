import { expect, test } from "vitest"
import { idOf } from "../ids.ts"
import { resetAfterMs } from "./limits.ts"
import type { Conversation } from "./records.ts"
import { beforeReset, decideReset, isOtherGroup } from "./reset.ts"
import { bytes, conversation, device, directive, leaf, nowMs, user } from "./testing/records.ts"

const direct: Conversation = { ...conversation, kind: "DIRECT", roster: [leaf(0, 10), leaf(1, 20)] }
const newcomer = { deviceId: device(11), userId: user(1) }
const member = { deviceId: device(10), userId: user(1) }
const rejoin = {
  ...directive,
  id: idOf("dir", bytes(3, 16)),
  kind: "REJOIN" as const,
  userId: user(1),
  deviceId: device(10),
}
/** A REJOIN of device 10 that nobody has carried out for as long as helpers have. */
const unhelped = { ...rejoin, issuedAtMs: nowMs - resetAfterMs }
const revoked = (number: number) => ({ ...directive, userId: user(Math.floor(number / 10)), deviceId: device(number) })
const report = {
  ...{ deviceId: device(20), userId: user(2), epoch: 3n, seq: 7n, fault: "COMMIT_UNPROCESSABLE" as const },
  ...{ stateTag: null, reportedAtMs: nowMs },
}
const ownReport = { ...report, deviceId: device(10), userId: user(1) }
const unhelpedReport = { ...ownReport, reportedAtMs: nowMs - resetAfterMs }
const refuse = (reason: string) => ({ is: "refuse", reason })

test.each<[string, Partial<Conversation>, typeof newcomer, ReturnType<typeof device>[], object]>([
  ["a new device, and nobody is online", {}, newcomer, [], { is: "reset" }],
  ["not while a device of its own user could add it", {}, newcomer, [device(10)], refuse("RESET_NOT_NEEDED")],
  ["not while a device of the peer could", {}, newcomer, [device(20)], refuse("RESET_NOT_NEEDED")],
  ["a device that is no member is no helper", {}, newcomer, [device(12)], { is: "reset" }],
  ["nor is a device that is revoked", { directives: [revoked(20)] }, newcomer, [device(20)], { is: "reset" }],
  ["nor one that waits to be let in again", { directives: [rejoin] }, newcomer, [device(10)], { is: "reset" }],
  [
    "one whose REJOIN is done is help again",
    { directives: [{ ...rejoin, status: "DONE" }] },
    newcomer,
    [device(10)],
    refuse("RESET_NOT_NEEDED"),
  ],
  ["nor one that reported that it cannot follow", { forkReports: [report] }, newcomer, [device(20)], { is: "reset" }],
  ["not by a member that follows", {}, member, [], refuse("NOTHING_TO_DO")],
  ["by a member that waits for a REJOIN", { directives: [rejoin] }, member, [device(10)], { is: "reset" }],
  ["or that has reported a commit", { forkReports: [ownReport] }, member, [], { is: "reset" }],
  [
    "not while a member has less than a minute to add it",
    { directives: [{ ...unhelped, issuedAtMs: unhelped.issuedAtMs + 1 }] },
    member,
    [device(20)],
    refuse("RESET_NOT_NEEDED"),
  ],
  ["once no member has helped for a minute", { directives: [unhelped] }, member, [device(20)], { is: "reset" }],
  [
    "not by a report alone, which asks nobody to remove it",
    { forkReports: [unhelpedReport] },
    member,
    [device(20)],
    refuse("RESET_NOT_NEEDED"),
  ],
  [
    "not once a member has removed it: the member works, and waits for a key package",
    { roster: [leaf(1, 20)], directives: [{ ...unhelped, status: "REMOVED" }] },
    member,
    [device(20)],
    refuse("RESET_NOT_NEEDED"),
  ],
  [
    "not by a new device while another one waits unhelped",
    { directives: [unhelped] },
    newcomer,
    [device(20)],
    refuse("RESET_NOT_NEEDED"),
  ],
  [
    "not by the report of another device",
    { roster: [leaf(0, 10), leaf(1, 20), leaf(2, 21)], forkReports: [{ ...unhelpedReport, deviceId: device(21) }] },
    member,
    [device(20)],
    refuse("NOTHING_TO_DO"),
  ],
  ["not by one that is to be removed", { directives: [revoked(10)] }, member, [], refuse("DEVICE_REVOKED")],
  ["not by a third user", {}, { deviceId: device(30), userId: user(3) }, [], refuse("NOT_MEMBER")],
  ["not of a group", { kind: "GROUP" }, newcomer, [], refuse("MEMBERSHIP_CHANGE_NOT_ALLOWED")],
  ["not before the first commit", { epoch: 0n, roster: [] }, newcomer, [], refuse("NOTHING_TO_DO")],
  ["not of one that is closed", { status: "CLOSED" }, newcomer, [], refuse("CONVERSATION_CLOSED")],
])("%s", (_, change, requester, online, expected) => {
  expect(decideReset({ ...direct, ...change }, requester, online, nowMs)).toEqual(expected)
})

test("a reset is framed in another group of the same conversation", () => {
  const other = bytes(9)
  other[31] = 1
  expect(isOtherGroup(direct, other)).toBe(true)
  expect(isOtherGroup(direct, direct.mlsGroupId)).toBe(false)
  expect(isOtherGroup(direct, bytes(8))).toBe(false)
  expect(isOtherGroup(direct, other.subarray(0, 31))).toBe(false)
  expect(beforeReset(direct, other)).toMatchObject({ mlsGroupId: other, roster: [], epoch: 3n, state: direct.state })
})
