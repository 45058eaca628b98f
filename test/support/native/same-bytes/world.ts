// The ports that each client of the story shares: seeded randomness, a stopped clock, and a box without encryption.
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { openMemoryStore } from "../../../../clients/core/messaging/store/memory.ts"
import type { MessagingStore, Op } from "../../../../clients/core/messaging/store/store.ts"
import type { SecretBox } from "../../../../clients/core/secret-box.ts"

/** Bytes of a seed, as driver.c makes them. They are for tests only. */
export interface Draws {
  bytes(length: number): Uint8Array<ArrayBuffer>
  /** Starts over with another seed. */
  restart(seed: number): void
}

export function drawsOf(first: number): Draws {
  let seed = first
  let count = 0
  const next = (): number => {
    let x = (Math.imul(count++, 0x9e3779b1) ^ seed) >>> 0
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
    return (x ^ (x >>> 16)) & 255
  }
  return {
    bytes: (length) => Uint8Array.from({ length }, next),
    restart(next) {
      seed = next
      count = 0
    },
  }
}

/** The signature key of a reference, which is its seed here. */
export const signing = {
  publicKey: (seed: Uint8Array): Uint8Array => nodeSigner(seed).publicKey,
  sign: (seed: Uint8Array, message: Uint8Array): Uint8Array => nodeSigner(seed).sign(message),
}

const plainSeal = (purpose: string, plaintext: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([...new TextEncoder().encode(`${purpose}\n`), ...plaintext])
const plainOpen = (purpose: string, sealed: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(sealed.subarray(new TextEncoder().encode(purpose).length + 1))

export const plainDescription = { backend: "plain", version: 1, hardware: false, deviceBound: false, persistent: true }

/** Seals nothing: rows are compared as they are. */
export const plainBox = (): SecretBox => ({
  describe: () => plainDescription,
  createKey: async () => undefined,
  seal: async (_scope, purpose, plaintext) => plainSeal(purpose, plaintext),
  open: async (_scope, purpose, sealed) => plainOpen(purpose, sealed),
  rotate: async () => undefined,
  destroy: async () => undefined,
})

interface RecordedStore extends MessagingStore {
  /** The transactions that succeeded, in order: a line for each write. */
  readonly transactions: string[]
}

export function recordedStore(): RecordedStore {
  const store = openMemoryStore()
  const transactions: string[] = []
  const textOf = (op: Op) =>
    [op.space ?? "", op.op, op.table, op.key, "value" in op ? Buffer.from(op.value).toString("hex") : ""].join(" ")
  return {
    ...store,
    durability: "persistent",
    transactions,
    async transact(space, generation, ops) {
      const outcome = await store.transact(space, generation, ops)
      if (outcome === "ok") transactions.push([`${space} ${generation}`, ...ops.map(textOf)].join("\n"))
      return outcome
    },
  }
}
