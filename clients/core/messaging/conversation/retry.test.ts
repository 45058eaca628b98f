import { Code, ConnectError } from "@connectrpc/connect"
import { expect, test } from "vitest"
import { type FailureReason, SignetError } from "../../errors.ts"
import { longestAskedMs } from "./backoff.ts"
import { maxTries, type Reaction, reactionTo, type SendItemKind, waitBeforeRetry } from "./retry.ts"

const refusal = (reason: FailureReason) => new SignetError(reason, "refused")
/** Formats a reaction as one line. */
const told = (reaction: Reaction): string => {
  if (reaction.is === "queue" || reaction.is === "drop") return reaction.is
  const steps = ["", ...reaction.steps].join(" ")
  return reaction.is === "reject" ? `reject${steps}` : `retry${steps} / ${reaction.wait} / ${reaction.exhausted}`
}

const staleMessage = "retry readLog / none / CONFLICT_EXHAUSTED"
const lostCommit = "retry readLog discard / askedAfterFirst / CONFLICT_EXHAUSTED"
const lostEpoch = "retry readLog discard rejoinIfEpochLost / backoff / QUEUED"
const stalePlan = "retry readLog discard checkEquivocation / backoff / CONFLICT_EXHAUSTED"
const removalFirst = "retry discard carryOutDirectives readLog / backoff / QUEUED"
const otherMessage = "reject checkEquivocation"
const otherCommit = "reject discard checkEquivocation rejoinIfLeafOutdated"

test.each<[FailureReason, string, string]>([
  ["STALE_EPOCH", staleMessage, lostCommit],
  ["FUTURE_EPOCH", lostEpoch, lostEpoch],
  ["LOG_INCOMPLETE", "retry readLog / backoff / QUEUED", "retry readLog / backoff / QUEUED"],
  ["COMMIT_CONFLICT", otherMessage, lostCommit],
  ["PROOF_STALE", otherMessage, stalePlan],
  ["PROOF_REFUSED", otherMessage, stalePlan],
  ["KEY_PACKAGE_NOT_CLAIMED", otherMessage, stalePlan],
  ["COMMIT_REQUIRED", removalFirst, removalFirst],
  ["RATE_LIMITED", "retry / asked / QUEUED", "retry / asked / QUEUED"],
  ["CONVERSATION_CLOSED", "drop", otherCommit],
  ["LIMIT_EXCEEDED", "drop", otherCommit],
  ["INVALID_FIELD", "drop", otherCommit],
  ["UNAVAILABLE", "queue", "queue"],
  ["PLACE_HELD", "queue", "queue"],
  ["NOT_MEMBER", "reject followLeave", otherCommit],
])("after %s a message: %s; a commit: %s", (reason, message, commit) => {
  expect(told(reactionTo("message", refusal(reason)))).toBe(message)
  expect(told(reactionTo("commit", refusal(reason)))).toBe(commit)
})

test("after COMMIT_REQUIRED a directive carries out no other one; otherwise it is a commit", () => {
  expect(told(reactionTo("directive", refusal("COMMIT_REQUIRED")))).toBe(otherCommit)
  for (const reason of ["STALE_EPOCH", "PROOF_STALE", "RATE_LIMITED", "NOT_MEMBER"] as const) {
    expect(reactionTo("directive", refusal(reason))).toEqual(reactionTo("commit", refusal(reason)))
  }
})

test.each<SendItemKind>(["message", "commit", "directive"])("a %s whose response is lost is queued", (kind) => {
  expect(reactionTo(kind, new ConnectError("gone", Code.Unavailable))).toEqual({ is: "queue" })
})

test.each<SendItemKind>(["message", "commit", "directive"])(
  "a %s that failed on this device is rejected with that error",
  (kind) => {
    expect(reactionTo(kind, new Error("disk"))).toEqual({ is: "reject", steps: [] })
  },
)

const random = { bytes: () => Uint8Array.of(0) }
const wait = (kind: Parameters<typeof waitBeforeRetry>[0], tries: number, askedMs?: number) =>
  waitBeforeRetry(kind, { tries, askedMs, random })

test("the wait doubles, or is the service's retry_after", () => {
  expect([1, 2, 3].map((tries) => wait("backoff", tries, 7))).toEqual([100, 200, 400])
  expect([1, 2].map((tries) => wait("asked", tries, 7))).toEqual([7, 7])
  expect(wait("asked", 2)).toBe(200)
  expect([1, 2].map((tries) => wait("askedAfterFirst", tries, 7))).toEqual([100, 7])
  expect(wait("none", 1, 7)).toBe(0)
})

test("there is no attempt after the last one, or if the wait exceeds the limit", () => {
  expect(wait("none", maxTries - 1)).toBe(0)
  expect(wait("none", maxTries)).toBeUndefined()
  expect(wait("asked", 1, longestAskedMs)).toBe(longestAskedMs)
  expect(wait("asked", 1, longestAskedMs + 1)).toBeUndefined()
})
