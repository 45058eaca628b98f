import type { Mutant } from "./mutant.ts"

const client = "clients/core/messaging"
const resets = "test/attack/messenger-resets.test.ts"

/** Mutants of resets: when a direct conversation gets a new group, and what its members see of it. */
export const resetMutants: readonly Mutant[] = [
  {
    fault: "a conversation is reset though a member could let the device in",
    file: "server/kernel/messaging/reset.ts",
    from: "return isHelped ?",
    to: 'return requester.deviceId === "" ?',
    test: "server/kernel/messaging/reset.test.ts",
    name: "not while a device of the peer could",
  },
  {
    fault: "a device that nobody helps waits as long as a member is online",
    file: "server/kernel/messaging/reset.ts",
    from: "nowMs - askedAtMs >= resetAfterMs",
    to: "nowMs - askedAtMs < 0",
    test: "test/attack/messaging-resets.test.ts",
    name: "a device that no member removes may reset after a minute, and not before",
  },
  {
    fault: "a member that was added again is no helper",
    file: "server/kernel/messaging/reset.ts",
    from: 'one.kind === "REJOIN" && one.status === "OPEN" && isOf(one, leaf))\n',
    to: 'one.kind === "REJOIN" && isOf(one, leaf))\n',
    test: "server/kernel/messaging/reset.test.ts",
    name: "one whose REJOIN is done is help again",
  },
  {
    fault: "a stuck device helps others",
    file: "server/kernel/messaging/reset.ts",
    from: "!isStuck(conversation, leaf),\n",
    to: "leaf.leafIndex >= 0,\n",
    test: "server/kernel/messaging/reset.test.ts",
    name: "nor one that reported that it cannot follow",
  },
  {
    fault: "a quarantined direct conversation waits for the app",
    file: `${client}/conversation/status.ts`,
    from: "(record.isDirect || record.quarantine?.reason",
    to: "(record.quarantine?.reason",
    test: resets,
    name: "a service that quarantines a conversation causes a visible reset at most",
  },
  {
    fault: "a device that cannot process a commit waits until its user writes",
    file: `${client}/sending/reset.ts`,
    from: "record?.quarantine !== undefined ||",
    to: "",
    test: "test/story/messenger-stranded.test.ts",
    name: "the others continue without user action",
  },
  {
    fault: "a reset takes a number that members have read",
    file: "server/kernel/messaging/append.ts",
    from: "if (isReset === true) return processedSeq > headSeq",
    to: "if (isReset === true) return false",
    test: "test/story/messenger-stranded.test.ts",
    name: "a conversation continues after the service has lost two messages that no device can resubmit",
  },
  {
    fault: "a shorter log is not noticed before somebody writes",
    file: `${client}/conversation/recovery.ts`,
    from: "local.processedSeq > shown.headSeq",
    to: "local.processedSeq < 0n",
    test: `${client}/conversation/recovery.test.ts`,
    name: "a device that has read beyond the head reads again",
  },
  {
    fault: "a reset after a gap shows no gap",
    file: `${client}/conversation/envelope.ts`,
    from: "afterSeq === 0n || at.seq === afterSeq + 1n",
    to: "afterSeq >= 0n",
    test: resets,
    name: "a reset after lost or withheld messages is followed, and the timeline shows the gap",
  },
  {
    fault: "any commit is followed after a gap",
    file: `${client}/conversation/order.ts`,
    from: "return isOfOtherGroup(local.group, envelope)",
    to: "return isOfOtherGroup(local.group, envelope) || true",
    test: resets,
    name: "another commit after a gap is not applied",
  },
]
