// The effects that a platform performs for a core.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import {
  EffectFailure_Kind,
  EffectFailureSchema,
  type EffectResult,
  EffectResultSchema,
  EffectSchema,
  HttpPieceSchema,
  StoreChangeSchema,
} from "@signet/proto/host/v1/host"
import type { Performing, Platform } from "./platform.ts"

interface RunningEffects {
  start(id: number, effect: Uint8Array): void
  /** The core waits for the effect no more. */
  cancel(id: number): void
  cancelAll(): void
}

type Enter = (name: "complete" | "push", id: number, bytes: Uint8Array) => void

export function runningEffects({ perform }: Pick<Platform, "perform">, enter: Enter): RunningEffects {
  const running = new Map<number, AbortController>()

  async function run(id: number, bytes: Uint8Array): Promise<void> {
    const aborting = new AbortController()
    running.set(id, aborting)
    const pushed = (piece: Uint8Array) => {
      if (running.has(id)) enter("push", id, piece)
    }
    const performing: Performing = {
      signal: aborting.signal,
      push: (piece) => pushed(toBinary(HttpPieceSchema, create(HttpPieceSchema, piece))),
      pushChange: (space) => pushed(toBinary(StoreChangeSchema, create(StoreChangeSchema, { space }))),
    }
    let result: EffectResult["result"]
    try {
      result = await perform(fromBinary(EffectSchema, bytes).effect, performing)
    } catch {
      // The message may name a path or an address: the core gets the kind only.
      result = { case: "failure", value: create(EffectFailureSchema, { kind: EffectFailure_Kind.IO }) }
    }
    if (!running.delete(id)) return
    enter("complete", id, toBinary(EffectResultSchema, create(EffectResultSchema, { result })))
  }

  function cancel(id: number): void {
    running.get(id)?.abort()
    running.delete(id)
  }

  return {
    start: (id, effect) => void run(id, effect),
    cancel,
    cancelAll() {
      for (const id of [...running.keys()]) cancel(id)
    },
  }
}
