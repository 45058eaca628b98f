import { describe, expect, test } from "vitest"
import { idOf } from "../ids.ts"
import { maxCount } from "./limits.ts"
import { decideAdded, decideMembership, type MembershipDecision, type MembershipQuestion, sees } from "./membership.ts"
import type { Conversation } from "./records.ts"
import { bytes, conversation, device, directive, fresh, keyPackage, leaf, nowMs, user } from "./testing/records.ts"

const direct: Conversation = { ...conversation, kind: "DIRECT" }
const leased = { ...directive, lease: { deviceId: device(10), untilMs: nowMs } }
const rejoin = { ...leased, kind: "REJOIN" } as const
const rejoinOf = (number: number) => ({ ...rejoin, deviceId: device(number) })
const leasedBy = (number: number, untilMs: number) => ({ ...directive, lease: { deviceId: device(number), untilMs } })
const question: MembershipQuestion = {
  conversation,
  requester: { deviceId: device(10), userId: user(1) },
  baseEpoch: 3n,
  baseStateTag: bytes(3),
  change: { is: "add", userIds: [user(3)], deviceIds: [] },
  nowMs,
}
/** The requester's leaf, and more leaves of one other user than one commit may remove. */
const crowd = [leaf(0, 10), ...Array.from({ length: maxCount.subjectsPerCommit + 1 }, (_, i) => leaf(i + 1, 20))]
const remove = (...numbers: number[]) => ({ is: "remove" as const, userIds: [], deviceIds: numbers.map(device) })
const carryOut = { is: "carryOut", directiveId: directive.id } as const
const having = (directives: Conversation["directives"], change: Partial<Conversation> = {}) => ({
  ...conversation,
  directives,
  ...change,
})

describe("a change of members", () => {
  test.each<[string, Partial<MembershipQuestion>, object]>([
    ["a member adds a user", {}, { is: "add", op: "ADD", targets: { userIds: [user(3)] } }],
    [
      "a member removes another's device",
      { change: remove(20) },
      { is: "remove", op: "REMOVE", leaves: [leaf(1, 20)] },
    ],
    [
      "and all of a user's",
      { change: { is: "remove", userIds: [user(2)], deviceIds: [] } },
      { leaves: [leaf(1, 20), leaf(2, 21)] },
    ],
    [
      "a new device of one of two users comes in",
      { conversation: direct, change: { is: "add", userIds: [user(2)], deviceIds: [] } },
      { is: "add" },
    ],
    [
      "one of two users removes another device of their own",
      { conversation: { ...direct, roster: [leaf(0, 10), leaf(1, 11)] }, change: remove(11) },
      { is: "remove", leaves: [leaf(1, 11)] },
    ],
    [
      "a revocation is carried out",
      { conversation: having([leased]), change: carryOut },
      { op: "REMOVE", leaves: [leaf(2, 21)] },
    ],
    [
      "a revocation is carried out after another's lease",
      { conversation: having([leasedBy(20, nowMs)]), change: carryOut },
      { op: "REMOVE", leaves: [leaf(2, 21)] },
    ],
    ["another change waits for it", { conversation: having([leased]) }, { is: "commitRequired", directive: leased }],
    [
      "a rejoin waits for it",
      { conversation: having([rejoinOf(20), { ...leased, id: idOf("dir", bytes(2, 16)) }]), change: carryOut },
      { is: "commitRequired", directive: { kind: "REVOCATION" } },
    ],
    [
      "nothing waits in its first second",
      { conversation: having([{ ...leased, issuedAtMs: nowMs - 999 }]) },
      { op: "ADD" },
    ],
    [
      "a rejoining device is removed, in quarantine too",
      { conversation: having([rejoin], { status: "QUARANTINED" }), change: carryOut },
      { is: "remove", op: "REJOIN" },
    ],
    [
      "a revoked device is removed in quarantine, or its report would hold everybody up for good",
      { conversation: having([leased], { status: "QUARANTINED" }), change: carryOut },
      { is: "remove", op: "REMOVE" },
    ],
    [
      "and added again",
      { conversation: having([{ ...rejoin, status: "REMOVED" }], { roster: [leaf(0, 10)] }), change: carryOut },
      { is: "add", op: "REJOIN", targets: { deviceIds: [device(21)] } },
    ],
    [
      "any of the users makes the first commit",
      {
        conversation: fresh,
        requester: { deviceId: device(20), userId: user(2) },
        baseEpoch: 0n,
        baseStateTag: null,
        change: { is: "create" },
      },
      { is: "add", op: "CREATE", targets: { userIds: [user(1), user(2)] } },
    ],
  ])("%s", (_, change, expected) => {
    expect(decideMembership({ ...question, ...change })).toMatchObject(expected)
  })

  test.each<[string, Partial<MembershipQuestion>, Extract<MembershipDecision, { reason: unknown }>["reason"]]>([
    ["a stranger", { requester: { deviceId: device(30), userId: user(3) } }, "NOT_MEMBER"],
    ["another device of a member", { requester: { deviceId: device(11), userId: user(1) } }, "NOT_MEMBER"],
    [
      "a revoked device",
      { conversation: having([directive]), requester: { deviceId: device(21), userId: user(2) } },
      "DEVICE_REVOKED",
    ],
    ["a closed conversation", { conversation: having([], { status: "CLOSED" }) }, "CONVERSATION_CLOSED"],
    ["quarantine", { conversation: having([], { status: "QUARANTINED" }) }, "CONVERSATION_QUARANTINED"],
    ["an earlier state", { baseEpoch: 2n }, "STALE_EPOCH"],
    [
      "quarantine, of a removal too",
      { conversation: having([], { status: "QUARANTINED" }), change: remove(20) },
      "CONVERSATION_QUARANTINED",
    ],
    ["a state to come", { baseEpoch: 4n }, "FUTURE_EPOCH"],
    ["a fork", { baseStateTag: bytes(9) }, "PROOF_STALE"],
    ["a state without a tag", { baseStateTag: null }, "PROOF_STALE"],
    ["a second creation", { change: { is: "create" } }, "NOTHING_TO_DO"],
    ["a change before the first commit", { conversation: fresh, baseEpoch: 0n }, "NOT_MEMBER"],
    ["a third user of two", { conversation: direct }, "MEMBERSHIP_CHANGE_NOT_ALLOWED"],
    ["the other user's removal", { conversation: direct, change: remove(20) }, "MEMBERSHIP_CHANGE_NOT_ALLOWED"],
    ["one's own removal", { change: remove(10) }, "MEMBERSHIP_CHANGE_NOT_ALLOWED"],
    ["nobody's", { change: remove(30) }, "NOTHING_TO_DO"],
    ["an addition of nobody", { change: { is: "add", userIds: [], deviceIds: [] } }, "NOTHING_TO_DO"],
    [
      "the first commit of a user whom the conversation is not for",
      {
        conversation: fresh,
        requester: { deviceId: device(30), userId: user(3) },
        baseEpoch: 0n,
        baseStateTag: null,
        change: { is: "create" },
      },
      "NOT_MEMBER",
    ],
    [
      "more removals than one commit may have",
      { conversation: { ...conversation, roster: crowd }, change: { is: "remove", userIds: [user(2)], deviceIds: [] } },
      "LIMIT_EXCEEDED",
    ],
    [
      "a directive that is done",
      { conversation: having([{ ...leased, status: "DONE" }]), change: carryOut },
      "NOTHING_TO_DO",
    ],
    [
      "a directive whose device is gone",
      { conversation: having([leased], { roster: [leaf(0, 10)] }), change: carryOut },
      "NOTHING_TO_DO",
    ],
    ["a directive without a lease", { conversation: having([directive]), change: carryOut }, "DIRECTIVE_LEASED"],
    [
      "a directive that another has leased",
      { conversation: having([leasedBy(20, nowMs + 1)]), change: carryOut },
      "DIRECTIVE_LEASED",
    ],
    ["a directive that is not there", { change: carryOut }, "NOT_FOUND"],
  ])("is refused for %s", (_, change, reason) => {
    expect(decideMembership({ ...question, ...change })).toMatchObject({ reason })
  })
})

describe("a proof adds", () => {
  test("devices that are not members yet, and never the requester", () => {
    const claimed = [keyPackage(10), keyPackage(20), keyPackage(30)]
    expect(decideAdded(conversation, device(10), claimed)).toEqual({ is: "add", packages: [keyPackage(30)] })
  })

  test.each<[string, Conversation, number[], string]>([
    ["nobody without packages", conversation, [], "NO_KEY_PACKAGE"],
    ["nobody twice", conversation, [20, 21], "NOTHING_TO_DO"],
    ["no third user of two", direct, [30], "MEMBERSHIP_CHANGE_NOT_ALLOWED"],
    ["not more than there is room for", { ...conversation, maxLeaves: 3 }, [30], "LIMIT_EXCEEDED"],
    [
      "not more than one commit may add",
      { ...conversation, maxLeaves: 10_000 },
      new Array(maxCount.subjectsPerCommit + 1).fill(30),
      "LIMIT_EXCEEDED",
    ],
    ["with the creator counted", { ...fresh, maxLeaves: 1 }, [20], "LIMIT_EXCEEDED"],
  ])("%s", (_, where, numbers, reason) => {
    expect(
      decideAdded(
        where,
        device(10),
        numbers.map((number) => keyPackage(number)),
      ),
    ).toEqual({ is: "refuse", reason })
  })
})

test("a conversation is visible to the users of its leaves, and at epoch 0 to its initial users", () => {
  expect(sees(conversation, user(2))).toBe(true)
  expect(sees(conversation, user(3))).toBe(false)
  expect(sees(fresh, user(2))).toBe(true)
  expect(sees(fresh, user(3))).toBe(false)
  expect(sees(direct, user(3))).toBe(false)
  expect(sees({ ...conversation, roster: [leaf(0, 10)] }, user(2))).toBe(false)
  expect(sees({ ...direct, roster: [leaf(0, 10)] }, user(2))).toBe(true)
})
