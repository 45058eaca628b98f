// The effects that a platform performs for a core.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import {
  EffectFailure_Kind,
  EffectFailureSchema,
  type EffectResult,
  EffectResultSchema,
  EffectSchema,
  type HttpPiece,
  HttpPieceSchema,
} from "@signet/proto/host/v1/host"
import type { Platform } from "./platform.ts"

export interface RunningEffects {
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
    const push = (piece: Omit<HttpPiece, "$typeName">) => {
      if (running.has(id)) enter("push", id, toBinary(HttpPieceSchema, create(HttpPieceSchema, piece)))
    }
    let result: EffectResult["result"]
    try {
      result = await perform(fromBinary(EffectSchema, bytes).effect, { signal: aborting.signal, push })
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
