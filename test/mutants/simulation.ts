import type { Mutant } from "./mutant.ts"

const client = "clients/core/messaging"
const test = "test/simulation/simulation.test.ts"
const hostileTest = "test/simulation/hostile.test.ts"

/** Found by a service that has turned, and tells the truth again. */
const hostile = (hostility: string) => ({
  test: hostileTest,
  name: `a service that has turned to ${hostility} makes nobody read what is not theirs`,
  row: "makes nobody read what is not theirs",
})

/** Faults that a simulation found, put back. */
export const simulationMutants: readonly Mutant[] = [
  {
    fault: "a message that was written after an epoch's end goes out behind older ones, with an earlier key",
    file: "clients/core/messaging/sending/outbox.ts",
    from: "      const again = await encrypted(",
    to: "      if (record.epoch === seat.group.epoch) continue\n      const again = await encrypted(",
    test,
    name: "messages that were written in two epochs are sent in an order that opens",
  },
  {
    fault: "who was in twice is told of the second time only",
    file: "server/rpc/messaging/reads.ts",
    from: "span(id, deviceId, asked.afterSeq)",
    to: "span(id, deviceId, 1_000_000n)",
    test,
    name: "who is removed and let in again while it is away, hears of both",
  },
  {
    fault: "a message that is stored counts as refused",
    file: "clients/core/messaging/sending/outbox.ts",
    from: "const isWaiting = isRefusal &&",
    to: "const isWaiting = !isRefusal &&",
    test,
    name: "what is refused is never sent",
  },
  {
    fault: "to begin a conversation is tried for ever, where somebody else began it",
    file: `${client}/sending/intents.ts`,
    from: 'if (group.epoch > 0n) return "nothing"',
    to: "",
    test,
    name: "who was second to begin a conversation, and was stopped, goes on in it",
  },
  {
    fault: "a ghost is let in by the service's word",
    file: `${client}/sending/staging.ts`,
    from: "if (!isWhole || !isAsked(person))",
    to: "if (!isWhole)",
    ...hostile("ghost member"),
  },
  {
    fault: "who cannot follow, since a commit was dropped, passes for active",
    file: `${client}/receiving/inbox.ts`,
    from: "{ ...record, status: Status.QUARANTINED, quarantine: evidence }",
    to: "{ ...record, quarantine: evidence }",
    ...hostile("dropped commit"),
  },
  {
    fault: "who cannot follow, since it was told another story, passes for active",
    file: `${client}/receiving/inbox.ts`,
    from: "const next = { ...record, status: Status.QUARANTINED,",
    to: "const next = { ...record,",
    ...hostile("equivocation"),
  },
  {
    fault: "a message that was opened opens again",
    file: `${client}/receiving/inbox.ts`,
    from: "batch.held = { ...batch.held, seat: { ...passed, group: next } }",
    to: "batch.held = { ...batch.held, seat: next.epoch < 0n ? seat : passed }",
    ...hostile("replay"),
  },
  {
    fault: "a group is joined by what the service was shown of an epoch before",
    file: `${client}/joining/group-info.ts`,
    from: "if (shown.epoch > epoch) return",
    to: "if (shown.epoch !== epoch) return",
    ...hostile("old group info"),
  },
  {
    fault: "a place that holds the wrong things counts as the end of the log",
    file: `${client}/sync/sync.ts`,
    from: "processedSeq < headSeq || group.epoch >= epoch",
    to: "processedSeq < headSeq || group.epoch >= 0n * epoch",
    test: hostileTest,
    name: "who was kept from a commit, and is where the service is, asks to be let in again",
  },
  {
    fault: "a conversation that was stopped over a fork is for whoever hears of it at once",
    file: `${client}/sync/sync.ts`,
    from: "if (shown === undefined || shown.directives.length > 0) await carryOutDue",
    to: "if (isTaking && (shown === undefined || shown.directives.length > 0)) await carryOutDue",
    ...hostile("equivocation"),
  },
]
