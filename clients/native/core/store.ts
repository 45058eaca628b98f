// The messenger's store over the host's effects.
import { StoreTransactResult_Outcome as Outcome, StoreOp_Kind } from "@signet/proto/host/v1/host"
import type { MessagingStore, Op, Transacted } from "../../core/messaging/store/store.ts"
import { perform } from "./effects.ts"
import { HostError } from "./host.ts"

const kinds = { put: StoreOp_Kind.PUT, create: StoreOp_Kind.CREATE, remove: StoreOp_Kind.REMOVE } as const

export function createHostStore(isPersistent: boolean): MessagingStore {
  return {
    durability: isPersistent ? "persistent" : "memory",
    async read(space, wanted) {
      const answer = await perform({ case: "storeRead", value: { space, wanted: [...wanted] } }, "storeRead")
      if (answer.values.length !== wanted.length) throw new HostError("HOST_REFUSED", "the store answered other rows")
      return {
        generation: answer.generation,
        values: answer.values.map(({ exists, value }) => (exists ? value : undefined)),
      }
    },
    async list(space, table, { after, limit = 0 } = {}) {
      const value = { space, table, limit, ...(after !== undefined && { after }) }
      return (await perform({ case: "storeList", value }, "storeList")).rows
    },
    spaces: async () => (await perform({ case: "storeSpaces", value: {} }, "storeSpaces")).spaces,
    async transact(space, expectedGeneration, ops) {
      const value = { space, expectedGeneration, ops: ops.map(opTo) }
      return outcomeOf((await perform({ case: "storeTransact", value }, "storeTransact")).outcome)
    },
    async close() {},
  }
}

function opTo(op: Op) {
  const { table, key, space = "" } = op
  return { kind: kinds[op.op], space, table, key, ...(op.op !== "remove" && { value: op.value }) }
}

function outcomeOf(outcome: Outcome): Transacted {
  switch (outcome) {
    case Outcome.OK:
      return "ok"
    case Outcome.GENERATION_MISMATCH:
      return "GENERATION_MISMATCH"
    case Outcome.EXISTS:
      return "EXISTS"
    default:
      // Whether it was written is unknown: the caller reads.
      throw new HostError("HOST_REFUSED", "the store answered without an outcome")
  }
}
