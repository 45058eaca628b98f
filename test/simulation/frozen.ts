// A process that stands still for a while, as a tab does that nobody looks at: what it waits for comes when it wakes.
import type { Transport } from "@connectrpc/connect"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import type { Clock } from "../../clients/core/ports.ts"

export interface Gate {
  readonly isClosed: boolean
  close(): void
  open(): void
  /** At once, or when it is open again. */
  pass(): Promise<void>
}

export function createGate(): Gate {
  let closed: { readonly until: Promise<void>; readonly open: () => void } | undefined
  return {
    get isClosed() {
      return closed !== undefined
    },
    close() {
      if (closed !== undefined) return
      const { promise, resolve } = Promise.withResolvers<void>()
      closed = { until: promise, open: resolve }
    },
    open() {
      closed?.open()
      closed = undefined
    },
    async pass() {
      while (closed !== undefined) await closed.until
    },
  }
}

async function through<T>(gate: Gate, work: () => Promise<T>): Promise<T> {
  await gate.pass()
  try {
    return await work()
  } finally {
    await gate.pass()
  }
}

export function storeThrough(gate: Gate, store: MessagingStore): MessagingStore {
  return {
    durability: store.durability,
    read: (...args) => through(gate, () => store.read(...args)),
    list: (...args) => through(gate, () => store.list(...args)),
    spaces: () => through(gate, () => store.spaces()),
    transact: (...args) => through(gate, () => store.transact(...args)),
    close: () => store.close(),
  }
}

export function transportThrough(gate: Gate, transport: Transport): Transport {
  return {
    unary: (...call) => through(gate, () => transport.unary(...call)),
    async stream(...call) {
      const answer = await through(gate, () => transport.stream(...call))
      return { ...answer, message: eachThrough(gate, answer.message) }
    },
  }
}

async function* eachThrough<T>(gate: Gate, items: AsyncIterable<T>): AsyncIterable<T> {
  for await (const item of items) {
    await gate.pass()
    yield item
  }
}

export function clockThrough(gate: Gate, clock: Clock): Clock {
  return {
    nowMs: clock.nowMs,
    after(ms, run) {
      let isOff = false
      const callOff = clock.after(ms, () => {
        void gate.pass().then(() => {
          if (!isOff) run()
        })
      })
      return () => {
        isOff = true
        callOff()
      }
    },
  }
}
