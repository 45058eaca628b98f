// What a core needs of its platform.
import type { Effect, EffectResult, HttpPiece } from "@signet/proto/host/v1/host"
import type { Value } from "./values.ts"

/** The platform's primitives, by their number in the contract. Undefined refuses. OUTPUT is the core's own. */
export type Primitives = Readonly<Partial<Record<number, (...args: readonly Value[]) => Value>>>

export interface Performing {
  /** Aborted once the core does not need the effect any more. */
  readonly signal: AbortSignal
  /** For a streamed answer, in order. */
  push(piece: Omit<HttpPiece, "$typeName">): void
  /** For a watched store, and for a turn that is held. */
  pushChange(space: string): void
}

export interface Platform {
  readonly primitives: Primitives
  /** Performs an effect. A rejection counts as EffectFailure IO. */
  perform(effect: Effect["effect"], performing: Performing): Promise<EffectResult["result"]>
  /** Runs once after `ms`. @returns Cancels it. */
  after(ms: number, run: () => void): () => void
}
