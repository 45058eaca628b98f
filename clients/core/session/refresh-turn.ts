// One refresh under the lock, as a state machine without input or output. `refresh.ts` performs its effects, one at a time.
import { type AccessTokens, receivedTokens } from "../access-tokens.ts"
import type { Tokens } from "../auth-calls.ts"
import type { ServiceReason } from "../errors.ts"
import type { KeptRecord } from "../keep.ts"
import type { SessionRecord } from "../record.ts"

export type Outcome =
  | { readonly is: "refreshed"; readonly kept: KeptRecord; readonly tokens: AccessTokens }
  /** Another tab has refreshed since. */
  | { readonly is: "enough"; readonly kept: KeptRecord }
  /** The service has ended the session, and its record is removed from the store. */
  | { readonly is: "ended"; readonly sessionId: string; readonly reason: ServiceReason }
  /** The store has no session. */
  | { readonly is: "gone" }
  /** Another process has changed the record in each round. */
  | { readonly is: "overtaken" }

/** What a process remembers between its refreshes. */
export interface RefreshMemory {
  /** The newest generation of tokens that this process has received. */
  readonly generation: number
  /**
   * An answer that the store did not accept, and the revision that it replaces. Nothing is presented before it is stored:
   * the service accepts the old token after a lost answer, but not for as long as a disk is full.
   */
  readonly unsaved?: { readonly after: string; readonly record: SessionRecord }
}

export type TurnStep =
  | { readonly is: "reading" }
  | { readonly is: "savingEarlier"; readonly record: SessionRecord }
  | { readonly is: "checking"; readonly kept: KeptRecord }
  | { readonly is: "presenting"; readonly kept: KeptRecord }
  | { readonly is: "writing"; readonly kept: KeptRecord; readonly record: SessionRecord; readonly tokens: AccessTokens }
  | { readonly is: "removing"; readonly kept: KeptRecord; readonly reason: ServiceReason }

export interface Turn {
  readonly memory: RefreshMemory
  /** From 1. A round ends when another process has changed the record. */
  readonly round: number
  readonly step: TurnStep
}

/** The result of the last effect. A failure that is not listed ends the turn, and changes nothing. */
export type TurnEvent =
  | { readonly on: "loaded"; readonly kept: KeptRecord | undefined }
  | { readonly on: "checked"; readonly isEnough: boolean }
  | { readonly on: "answered"; readonly answer: Tokens; readonly nowMs: number; readonly newRetryKey: string }
  | { readonly on: "refused"; readonly reason: ServiceReason }
  /** `revision` is undefined if the store has another record than the expected one. */
  | { readonly on: "written"; readonly revision: string | undefined }
  | { readonly on: "writeFailed" }
  | { readonly on: "removed"; readonly isOurs: boolean }

export type TurnEffect =
  | { readonly do: "load" }
  | { readonly do: "put"; readonly record: SessionRecord; readonly expected: string; readonly mayFail: boolean }
  /** Asks whether a refresh is still needed. */
  | { readonly do: "check"; readonly kept: KeptRecord }
  /** Presents the stored refresh token, with the retry key that is stored beside it. */
  | { readonly do: "present"; readonly record: SessionRecord }
  | { readonly do: "remove"; readonly expected: string }
  | { readonly do: "end"; readonly outcome: Outcome }

interface TurnDecision {
  readonly turn: Turn
  readonly effect: TurnEffect
}

/** Rounds in which another process may change the record first. */
const maxRounds = 4

export const beginTurn = (memory: RefreshMemory): TurnDecision => ({
  turn: { memory, round: 1, step: { is: "reading" } },
  effect: { do: "load" },
})

/** @throws TypeError for a result that no effect of this step has. */
export function decideTurn(turn: Turn, event: TurnEvent): TurnDecision {
  const { step, memory } = turn
  switch (event.on) {
    case "loaded":
      if (step.is === "reading") return afterReading(turn, event.kept)
      break
    case "checked":
      if (step.is !== "checking") break
      if (event.isEnough) return end(turn, { is: "enough", kept: step.kept })
      return go(turn, { is: "presenting", kept: step.kept }, { do: "present", record: step.kept.record })
    case "answered":
      if (step.is === "presenting") return afterAnswer(turn, step.kept, event)
      break
    case "refused":
      if (step.is !== "presenting") break
      return go(
        turn,
        { is: "removing", kept: step.kept, reason: event.reason },
        { do: "remove", expected: step.kept.revision },
      )
    case "written":
      if (step.is === "savingEarlier") {
        const saved = { ...turn, memory: { generation: memory.generation } }
        if (event.revision === undefined) return read(saved)
        return check(saved, { revision: event.revision, record: step.record })
      }
      if (step.is !== "writing") break
      if (event.revision === undefined) return nextRound(turn)
      return end(turn, {
        is: "refreshed",
        kept: { revision: event.revision, record: step.record },
        tokens: step.tokens,
      })
    case "writeFailed": {
      if (step.is !== "writing") break
      // The tokens are valid, and the old refresh token with its retry key gets the same answer.
      const unsaved = { after: step.kept.revision, record: step.record }
      return end({ ...turn, memory: { ...memory, unsaved } }, { is: "refreshed", kept: step.kept, tokens: step.tokens })
    }
    case "removed":
      if (step.is !== "removing") break
      // A process that was frozen presents an old token. The session is its successor's.
      if (!event.isOurs) return nextRound(turn)
      return end(turn, { is: "ended", sessionId: step.kept.record.user.sessionId, reason: step.reason })
  }
  throw new TypeError(`${event.on} while ${step.is}`)
}

function afterReading(turn: Turn, kept: KeptRecord | undefined): TurnDecision {
  const { unsaved } = turn.memory
  if (kept === undefined) return end(turn, { is: "gone" })
  if (unsaved?.after !== kept.revision) return check(turn, kept)
  const { record } = unsaved
  return go(turn, { is: "savingEarlier", record }, { do: "put", record, expected: kept.revision, mayFail: false })
}

function afterAnswer(
  turn: Turn,
  kept: KeptRecord,
  { answer, nowMs, newRetryKey }: TurnEvent & { on: "answered" },
): TurnDecision {
  const generation = Math.max(turn.memory.generation, kept.record.generation) + 1
  const record: SessionRecord = {
    user: kept.record.user,
    refreshToken: answer.refreshToken,
    retryKey: newRetryKey,
    generation,
    tokensGoodUntilMs: nowMs + answer.expiresIn * 1_000,
  }
  const tokens = receivedTokens(answer, { generation, nowMs })
  return go(
    { ...turn, memory: { ...turn.memory, generation } },
    { is: "writing", kept, record, tokens },
    { do: "put", record, expected: kept.revision, mayFail: true },
  )
}

const nextRound = (turn: Turn): TurnDecision =>
  turn.round >= maxRounds ? end(turn, { is: "overtaken" }) : read({ ...turn, round: turn.round + 1 })

const read = (turn: Turn): TurnDecision => go(turn, { is: "reading" }, { do: "load" })

const check = (turn: Turn, kept: KeptRecord): TurnDecision => go(turn, { is: "checking", kept }, { do: "check", kept })

const go = (turn: Turn, step: TurnStep, effect: TurnEffect): TurnDecision => ({ turn: { ...turn, step }, effect })

const end = (turn: Turn, outcome: Outcome): TurnDecision => ({ turn, effect: { do: "end", outcome } })
