// Faults in returning lost messages to the service.
import type { Mutant } from "./mutant.ts"

const append = "server/rpc/messaging/conversation/append"
const client = "clients/core/messaging"
const cases = "test/conformance/conformance.test.ts"
const table = "test/conformance/cases/resubmitting.ts"
const returning = `${append}/resubmit.test.ts`
const rules = "server/kernel/messaging/append.test.ts"
const story = "test/story/messenger-restored-service.test.ts"
const returned = "gets 100 messages and 3 commits back from its members, and every conversation continues"
const beyond = "continues beyond all lost numbers, and shows a member whose removal was lost"

export const resubmittingMutants: readonly Mutant[] = [
  {
    fault: "a sequence number that was lost is used again",
    file: "server/kernel/messaging/append.ts",
    from: "return processedSeq < seq ||",
    to: "return true ||",
    test: rules,
    name: "a number that the caller has read is not used again",
  },
  {
    fault: "a lost message is appended anywhere",
    file: "server/kernel/messaging/append.ts",
    from: "if (resubmittedSeq !== undefined) return resubmittedSeq === seq",
    to: "if (resubmittedSeq !== undefined) return true",
    test: rules,
    name: "and to no other one",
  },
  {
    fault: "a commit returns with a receipt for another number",
    file: "proto/canonical/commit-receipt.ts",
    from: 'ensure(body.seq === expected.seq, "RECEIPT_WRONG_SEQ")',
    to: "",
    test: returning,
    name: "a commit does not return with another receipt",
  },
  {
    fault: "a commit returns with a receipt that follows another one",
    file: `${append}/resubmitted-commit.ts`,
    from: "previous: { hash: state.receiptHash, acceptedAtMs: 0n },",
    to: 'previous: "unknown",',
    test: returning,
    name: "a commit does not return with another receipt",
  },
  {
    fault: "a receipt replaces the signature of a returned commit",
    file: `${append}/resubmitted-commit.ts`,
    from: "if (!verifyCommitSignature(commit, state.groupContext, key, verify))",
    to: "if (key.length === 0)",
    test: returning,
    name: "a signed receipt does not replace the committer's signature",
  },
  {
    fault: "a device whose credential has expired returns messages",
    file: `${append}/resubmit.ts`,
    from: "if (deps.clock.nowMs() >= device.expiresAtMs) throw expired()",
    to: "",
    test: returning,
    name: "a device whose credential has expired returns nothing",
  },
  {
    fault: "the operator does not see that members return messages",
    file: `${append}/resubmit.ts`,
    from: '...(isFirst ? [event({ kind: "conversation.resubmitted" })] : []),',
    to: "",
    test: returning,
    name: "a call that appends has one audit event, and one that appends nothing has none",
  },
  {
    fault: "a device rejoins because a limit refuses what it returns",
    file: `${client}/receiving/resubmit.ts`,
    from: "finalCodes.includes(failure.code)",
    to: "failure.code > 0",
    test: "test/attack/messenger-stories.test.ts",
    name: "she resubmits again unless the refusal is final",
  },
  {
    fault: "stored envelopes outlive the membership",
    file: `${client}/state/tail.ts`,
    from: "const removed = [...left]",
    to: "const removed = left.slice(0, 0)",
    test: `${client}/state/tail.test.ts`,
    name: "tails of conversations that were left are removed, and beyond the total bound the oldest ones",
  },
  {
    fault: "a message returns in the name of a device that is no member",
    file: `${append}/resubmit.ts`,
    from: 'if (sender === undefined) throw new Refused("NOT_MEMBER")',
    to: 'if (sender === undefined) throw new Refused("MLS_MALFORMED")',
    test: cases,
    name: "a message of another epoch or group, or of no member, is refused",
    table,
  },
  {
    fault: "a device that leaves returns messages",
    file: `${append}/resubmit.ts`,
    from: "if (leaving !== undefined) throw new Refused(leaving)",
    to: "",
    test: cases,
    name: "no device returns messages of a conversation that it is no member of, or leaves",
    table,
  },
  {
    fault: "a device does not store what it applied",
    file: `${client}/receiving/apply.ts`,
    from: "if (isApplied) applied.push(envelope)",
    to: "",
    test: story,
    name: returned,
  },
  {
    fault: "a device asks to rejoin at once when the log is shorter",
    file: `${client}/receiving/log.ts`,
    from: "headSeq !== undefined && !(await resubmitTail(conversation, headSeq))",
    to: "headSeq !== undefined",
    test: story,
    name: returned,
  },
  {
    fault: "a device stays in an epoch that the service has lost",
    file: `${client}/conversation/recovery.ts`,
    from: '...when(isActive && shown && shown.epoch < local.group.epoch, "rejoinIfEpochLost"),',
    to: "",
    test: story,
    name: "continues with what a device has written that had read less than the others",
  },
  {
    fault: "a device resubmits to a log that continued without it",
    file: `${client}/receiving/resubmit.ts`,
    from: "if (await isReused(conversation, head)) return false",
    to: "",
    test: story,
    name: beyond,
  },
  {
    fault: "a rejoining device gets a number that it has read",
    file: "server/kernel/messaging/append.ts",
    from: "return isRejoin && directives.some(",
    to: "return directives.length < 0 && directives.some(",
    test: rules,
    name: "of one that has read beyond the log, it is far",
  },
  {
    fault: "a member whose removal was lost returns unseen",
    file: `${client}/conversation/welcome.ts`,
    from: "if (before === undefined) return []",
    to: "if (before !== undefined) return []",
    test: story,
    name: beyond,
  },
  {
    fault: "a commit at any distance continues the log",
    file: `${client}/conversation/order.ts`,
    from: "seq === local.processedSeq + lostSeqGap",
    to: "seq > local.processedSeq",
    test: `${client}/conversation/order.test.ts`,
    name: "continues a log that has lost envelopes only there",
  },
  {
    fault: "the stored envelopes have no bound",
    file: `${client}/state/tail.ts`,
    from: "if (count > maxTail.count || bytes > maxTail.bytes) {",
    to: "if (count > maxTail.count) {",
    test: `${client}/state/tail.test.ts`,
    name: "only the newest envelopes stay, by size",
  },
]
