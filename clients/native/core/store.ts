// The messenger's store over the host's effects.
import { fromBinary } from "@bufbuild/protobuf"
import { StoreTransactResult_Outcome as Outcome, StoreChangeSchema, StoreOp_Kind } from "@signet/proto/host/v1/host"
import type { MessagingStore, Op, Space, Transacted } from "../../core/messaging/store/store.ts"
import { perform } from "./effects.ts"
import { HostError } from "./host.ts"

const kinds = { put: StoreOp_Kind.PUT, create: StoreOp_Kind.CREATE, remove: StoreOp_Kind.REMOVE } as const

export interface HostStoreOptions {
  readonly isPersistent: boolean
  /** True if other processes use the store, as tabs do. */
  readonly isShared: boolean
}

export function createHostStore({ isPersistent, isShared }: HostStoreOptions): MessagingStore {
  const closing = new AbortController()
  return {
    durability: isPersistent ? "persistent" : "memory",
    ...(isShared && {
      watch: (listener) => watch(listener, closing.signal),
      inTurn,
    }),
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
    async close() {
      closing.abort()
    },
  }
}

const spaceOf = (change: Uint8Array) => fromBinary(StoreChangeSchema, change).space

/** Reports may be lost, as in every store. */
function watch(listener: (space: Space) => void, signal: AbortSignal): void {
  const onPush = (change: Uint8Array) => listener(spaceOf(change))
  perform({ case: "storeWatch", value: {} }, "done", { signal, onPush }).catch(() => undefined)
}

/** A host that fails to give a turn delays no work: turns only avoid work that is done twice. */
async function inTurn<T>(space: Space, work: () => Promise<T>): Promise<T> {
  const ending = new AbortController()
  await new Promise<void>((resolve) => {
    const options = { signal: ending.signal, onPush: () => resolve() }
    perform({ case: "storeTurn", value: { space } }, "done", options).then(
      () => resolve(),
      () => resolve(),
    )
  })
  try {
    return await work()
  } finally {
    ending.abort()
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
