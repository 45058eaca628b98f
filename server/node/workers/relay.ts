// Passes hints on between the workers, and between them and other machines over one connection to the database.

import { randomBytes } from "node:crypto"
import { primaryOf } from "../../store/postgres/primary.ts"
import { createPostgresBus } from "../../wakeups/bus.ts"
import { decode, encode } from "../../wakeups/payload.ts"
import type { ToWorker } from "./messages.ts"

interface RelayOptions {
  readonly databaseUrl: string
  /** Sends to all workers but the given one. */
  broadcast(message: ToWorker, except?: number): unknown
  onFault(fault: unknown): void
}

export interface Relay {
  /** Passes a worker's hints to the others. */
  pass(payloads: readonly string[], from: number): void
  isListening(): boolean
  close(): Promise<void>
}

export function createRelay({ databaseUrl, broadcast, onFault }: RelayOptions): Relay {
  const origin = randomBytes(8).toString("hex")
  const bus = createPostgresBus({
    findDatabase: primaryOf(databaseUrl),
    origin,
    onHints: (hints) => broadcast({ is: "hints", payloads: encode(origin, hints) }),
    onListening: () => broadcast({ is: "listening", listening: true }),
    onError(error) {
      // Every error of the bus is the loss of its connection.
      broadcast({ is: "listening", listening: false })
      onFault(error)
    },
  })
  return {
    pass(payloads, from) {
      broadcast({ is: "hints", payloads }, from)
      bus.send(payloads.flatMap((payload) => decode(payload).hints))
    },
    isListening: bus.isListening,
    close: bus.close,
  }
}
