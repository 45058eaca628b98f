// Performs a refresh under the lock that all tabs and processes of a sign-in share. `session/refresh-turn.ts` decides.
import type { Tokens } from "./auth-calls.ts"
import { endingReasons, type ServiceReason, SignetError } from "./errors.ts"
import type { Keep, KeptRecord } from "./keep.ts"
import type { Clock, Lock, Random } from "./ports.ts"
import type { SessionRecord } from "./record.ts"
import {
  beginTurn,
  decideTurn,
  type Outcome,
  type RefreshMemory,
  type TurnEffect,
  type TurnEvent,
} from "./session/refresh-turn.ts"
import { randomText } from "./text.ts"

export interface RefreshSteps {
  /** True if no refresh is needed any more, now that this process holds the lock. */
  isEnough(kept: KeptRecord): Promise<boolean>
  present(record: SessionRecord): Promise<Tokens>
}

interface Refresher {
  /** @throws SignetError; a failure ends no session. */
  refresh(steps: RefreshSteps): Promise<Exclude<Outcome, { is: "overtaken" }>>
}

export const newRetryKey = (random: Random): string => randomText(random, 128)

interface RefresherDeps {
  readonly keep: Keep
  readonly lock: Lock
  readonly clock: Clock
  readonly random: Random
}

export function createRefresher(deps: RefresherDeps): Refresher {
  let memory: RefreshMemory = { generation: 0 }
  return {
    refresh: (steps) =>
      deps.lock.run(async () => {
        for (let decision = beginTurn(memory); ; ) {
          const { turn, effect } = decision
          memory = turn.memory
          if (effect.do !== "end") decision = decideTurn(turn, await perform(deps, steps, effect))
          else if (effect.outcome.is !== "overtaken") return effect.outcome
          else throw new SignetError("LOCK_BUSY", "other tabs changed this sign-in at every attempt: try again later")
        }
      }),
  }
}

async function perform(
  { keep, clock, random }: RefresherDeps,
  { isEnough, present }: RefreshSteps,
  effect: Exclude<TurnEffect, { do: "end" }>,
): Promise<TurnEvent> {
  switch (effect.do) {
    case "load":
      return { on: "loaded", kept: await keep.load() }
    case "check":
      return { on: "checked", isEnough: await isEnough(effect.kept) }
    case "present":
      return present(effect.record).then(
        (answer) => ({ on: "answered", answer, nowMs: clock.nowMs(), newRetryKey: newRetryKey(random) }),
        (error) => ({ on: "refused", reason: endingReasonOf(error) }),
      )
    case "put": {
      const { record, expected, mayFail } = effect
      const written = keep.put(record, expected).then((revision): TurnEvent => ({ on: "written", revision }))
      return mayFail ? written.catch(() => ({ on: "writeFailed" })) : written
    }
    case "remove":
      // Where the removal fails, the session has ended all the same.
      return { on: "removed", isOurs: await keep.remove(effect.expected).catch(() => true) }
  }
}

/** @throws The error, if it does not end the session. */
function endingReasonOf(error: unknown): ServiceReason {
  const reason = error instanceof SignetError ? endingReasons.find((each) => each === error.reason) : undefined
  if (reason === undefined) throw error
  return reason
}
