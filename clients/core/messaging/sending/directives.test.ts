// Which directives a device leases, in which order, and when it returns to those that another device has leased.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema, RetryInfoSchema } from "@signet/proto/google/rpc/error_details"
import { Directive_Status, DirectiveKind, type DirectiveSchema } from "@signet/proto/messaging/v1/records"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import { longestAskedMs } from "../conversation/backoff.ts"
import { idOf } from "../ids.ts"
import { timelineOp } from "../state/timeline.ts"
import { refusedAs, scripted } from "../testing/scripted.ts"
import { carryOutDirectives, carryOutIfActive } from "./directives.ts"

type Given = MessageInitShape<typeof DirectiveSchema>
const [alice, bob] = [world.alice, world.bob].map((user) => idOf("prn", user))
const [phone, other] = [world.phone, world.id(0x67)].map((device) => idOf("dev", device))
const removal = (id: string, userId: string | undefined, deviceId = ""): Given => ({
  ...{ id, kind: DirectiveKind.REVOCATION, status: Directive_Status.OPEN, deviceId },
  ...(userId === undefined ? {} : { userId }),
})

function leasedFor(seconds: bigint): ConnectError {
  const error = new ConnectError("leased", Code.Aborted)
  error.details.push({ desc: ErrorInfoSchema, value: { reason: "DIRECTIVE_LEASED", domain: "signet" } })
  error.details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds, nanos: 0 } } })
  return error
}

/** Carries out these directives. The service answers the lease of each one with an error. */
async function carriedOut(directives: readonly Given[], answer: (id: string) => ConnectError, returns = 1) {
  const leased: string[] = []
  const { conversation, write, waits } = await scripted({
    service: {
      listDirectives: () => ({ directives: [...directives] }),
      leaseDirective({ directiveId }) {
        leased.push(directiveId)
        // Ends a device that returns without a limit.
        throw leased.length > 20 ? gone() : answer(directiveId)
      },
    },
  })
  await write()
  await carryOutDirectives(conversation, returns)
  return { leased, waits }
}
const gone = () => refusedAs("NOT_FOUND")

test("removals come before rejoins, and no directive about this device is leased", async () => {
  const rejoin = { ...removal("rejoin", bob), kind: DirectiveKind.REJOIN }
  const about = [removal("user", alice), removal("device", alice, phone)]
  const { leased } = await carriedOut([rejoin, ...about, removal("sibling", alice, other), removal("bob", bob)], gone)
  expect(leased).toEqual(["sibling", "bob", "rejoin"])
})

test("a device waits for the shortest lease of others, and for at most half a minute", async () => {
  const three = ["one", "two", "three"].map((id) => removal(id, bob, other))
  const seconds = (id: string) => leasedFor(id === "two" ? 5n : 9n)
  const { leased, waits } = await carriedOut(three, seconds, 2)
  expect(waits).toEqual([5_000])
  await expect.poll(() => leased).toHaveLength(6)
  expect((await carriedOut(three, () => leasedFor(3_600n), 2)).waits).toEqual([longestAskedMs])
  expect((await carriedOut(three, seconds, 1)).waits).toEqual([])
  expect((await carriedOut(three, gone, 2)).waits).toEqual([])
})

test("after a failed call a device returns to the directives, without a second hint", async () => {
  let calls = 0
  const { conversation, write, waits } = await scripted({
    service: {
      listDirectives: () => ({ directives: [removal("one", bob, other)] }),
      leaseDirective() {
        calls++
        throw calls === 1 ? new ConnectError("no connection to the database", Code.Internal) : gone()
      },
    },
  })
  await write()
  await expect(carryOutIfActive(conversation)).rejects.toThrow("no connection")
  await expect.poll(() => calls).toBe(2)
  expect(waits).toHaveLength(1)
})

/** The message of the refusal with which a directive to add Bob's device ends. */
async function added(deviceId: string, removed: readonly { userId: string; deviceId: string }[]) {
  const authorization = { keyPackageRefs: [world.bytes32(1)] }
  const directive = { ...removal("rejoin", bob, deviceId), kind: DirectiveKind.REJOIN }
  const { conversation, events, write } = await scripted({
    service: {
      listDirectives: () => ({ directives: [directive] }),
      leaseDirective: () => ({}),
      authorizeMembership: () => ({ authorization }),
    },
    devices: { listDeviceLists: () => ({ newestVersion: 0n }) },
  })
  const committer = { userId: alice ?? "", deviceId: phone ?? "" }
  const entry = { seq: 3n, atMs: 7, is: "membership", committer, added: [], removed } as const
  await write({}, { ops: [await timelineOp(conversation.rows, conversation.id, entry)] })
  await carryOutDirectives(conversation)
  const [failed] = events.flatMap((event) => (event.is === "failed" ? [event.error] : []))
  return failed instanceof Error ? failed.message : "added"
}

test.each<[string, string | undefined, readonly [string | undefined, string | undefined][], boolean]>([
  ["that nobody removed", other, [], false],
  ["of a user with another removed device", other, [[bob, phone]], false],
  ["whose id a removed device of another user has", other, [[alice, other]], false],
  [
    "that was removed",
    other,
    [
      [alice, phone],
      [bob, other],
    ],
    true,
  ],
  ["of a user with any removed device", "", [[bob, phone]], true],
])("a directive to add a device %s", async (_, deviceId = "", removed, isKnown) => {
  const refusal = await added(
    deviceId,
    removed.map(([userId = "", id = ""]) => ({ userId, deviceId: id })),
  )
  // The proof of a known device is examined next, and this one is empty.
  expect(/device list does not have/.test(refusal)).toBe(!isKnown)
})

test.each([
  ["a directive and an outdated leaf", 1, true, ["append"]],
  ["a directive and a current leaf", 1, false, ["lease"]],
  ["no directive and an outdated leaf", 0, true, []],
])("with %s", async (_, count, isOutdated, expected) => {
  const called: string[] = []
  const { conversation, local, write } = await scripted({
    service: {
      listDirectives: () => ({ directives: Array.from({ length: count }, () => removal("bob", bob, other)) }),
      leaseDirective() {
        called.push("lease")
        throw gone()
      },
      appendMessage() {
        called.push("append")
        throw refusedAs("LIMIT_EXCEEDED")
      },
      listMessages: () => ({ headSeq: 4n }),
    },
  })
  await write({}, { local: isOutdated ? { ...local, identityKey: world.bytes32(5) } : local })
  await carryOutDirectives(conversation).catch(() => undefined)
  expect(called).toEqual(expected)
})

test.each([
  ["in no device list of its user", bob, "the directive adds a device that its user's device list does not have"],
  [
    "of a user who is no member",
    idOf("prn", world.id(0x69)),
    "the directive adds a device of a user who is not a member",
  ],
])("a directive adds no device that is %s", async (_, userId, message) => {
  const directive = { ...removal("new", userId, other), kind: DirectiveKind.REJOIN, status: Directive_Status.REMOVED }
  const { conversation, write, events } = await scripted({
    service: {
      listDirectives: () => ({ directives: [directive] }),
      leaseDirective: () => ({}),
      authorizeMembership: () => ({ authorization: { keyPackageRefs: [world.bytes32(1)] } }),
    },
    devices: { listDeviceLists: () => ({ newestVersion: 0n }) },
  })
  await write()
  await carryOutDirectives(conversation, 1)
  expect(events.at(-1)).toMatchObject({ is: "failed", error: { reason: "ANSWER_REFUSED", message } })
})
