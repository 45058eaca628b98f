import type { MessageInitShape } from "@bufbuild/protobuf"
import type { MessagingStore, Op, Table } from "@signet/client/messaging"
import {
  type EffectResultSchema,
  StoreOp_Kind as Kind,
  StoreTransactResult_Outcome as Outcome,
  type StoreList,
  type StoreOp,
  type StoreRead,
  type StoreTransact,
} from "@signet/proto/host/v1/host"

type Result = NonNullable<MessageInitShape<typeof EffectResultSchema>["result"]>

const outcomes = { ok: Outcome.OK, GENERATION_MISMATCH: Outcome.GENERATION_MISMATCH, EXISTS: Outcome.EXISTS } as const

/** The store's effects. Names of tables are the core's own, and only compared. */
export interface StoreEffects {
  read(effect: StoreRead): Promise<Result>
  list(effect: StoreList): Promise<Result>
  spaces(): Promise<Result>
  transact(effect: StoreTransact): Promise<Result>
  /** Reports writes of other tabs until the signal aborts. */
  watch(push: (space: string) => void, signal: AbortSignal): Promise<Result>
  /** Reports that the turn is held, and holds it until the signal aborts. */
  turn(space: string, push: (space: string) => void, signal: AbortSignal): Promise<Result>
}

const done: Result = { case: "done", value: {} }

export function createStoreEffects(store: MessagingStore): StoreEffects {
  return {
    async read({ space, wanted }) {
      const named = wanted.map(({ table, key }) => ({ table: table as Table, key }))
      const { generation, values } = await store.read(space, named)
      const found = values.map((value) => (value === undefined ? { exists: false } : { exists: true, value }))
      return { case: "storeRead", value: { generation, values: found } }
    },
    async list({ space, table, after, limit }) {
      const range = { ...(after !== undefined && { after }), ...(limit > 0 && { limit }) }
      return { case: "storeList", value: { rows: await store.list(space, table as Table, range) } }
    },
    spaces: async () => ({ case: "storeSpaces", value: { spaces: await store.spaces() } }),
    async transact({ space, expectedGeneration, ops }) {
      const outcome = outcomes[await store.transact(space, expectedGeneration, ops.map(opOf))]
      return { case: "storeTransact", value: { outcome } }
    },
    async watch(push, signal) {
      store.watch?.((space) => {
        if (!signal.aborted) push(space)
      })
      await aborted(signal)
      return done
    },
    async turn(space, push, signal) {
      const hold = async () => {
        if (!signal.aborted) push(space)
        await aborted(signal)
      }
      await (store.inTurn === undefined ? hold() : store.inTurn(space, hold))
      return done
    },
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener("abort", () => resolve(), { once: true })
  })

/** @throws TypeError for a kind of a later version. */
function opOf({ kind, space, table, key, value }: StoreOp): Op {
  const named = { table: table as Table, key, ...(space !== "" && { space }) }
  switch (kind) {
    case Kind.PUT:
      return { ...named, op: "put", value }
    case Kind.CREATE:
      return { ...named, op: "create", value }
    case Kind.REMOVE:
      return { ...named, op: "remove" }
    default:
      throw new TypeError("a write of an unknown kind")
  }
}
