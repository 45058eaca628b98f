// Faults in returning lost messages to the service.
import type { Mutant } from "./mutant.ts"

const append = "server/rpc/messaging/conversation/append"
const client = "clients/core/messaging"
const cases = "test/conformance/conformance.test.ts"
const table = "test/conformance/cases/resubmitting.ts"
const rules = "server/kernel/messaging/append.test.ts"
const story = "test/story/messenger-restored-service.test.ts"
const returned = "gets 100 messages and 3 commits back from its members, and every conversation continues"

export const resubmittingMutants: readonly Mutant[] = [
  {
    fault: "a sequence number that was lost is used again",
    file: "server/kernel/messaging/append.ts",
    from: "resubmittedSeq === undefined ? processedSeq < seq : resubmittedSeq === seq",
    to: "resubmittedSeq === undefined || resubmittedSeq === seq",
    test: rules,
    name: "a number that the caller has read is not used again",
  },
  {
    fault: "a lost message is appended anywhere",
    file: "server/kernel/messaging/append.ts",
    from: "resubmittedSeq === undefined ? processedSeq < seq : resubmittedSeq === seq",
    to: "resubmittedSeq !== undefined || processedSeq < seq",
    test: rules,
    name: "and to no other one",
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
    fault: "the stored envelopes have no bound",
    file: `${client}/state/tail.ts`,
    from: "if (count > maxTail.count || bytes > maxTail.bytes) {",
    to: "if (count > maxTail.count) {",
    test: `${client}/state/tail.test.ts`,
    name: "only the newest envelopes stay, by size",
  },
]
