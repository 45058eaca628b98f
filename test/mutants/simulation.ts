import type { Mutant } from "./mutant.ts"

const test = "test/simulation/simulation.test.ts"

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
]
