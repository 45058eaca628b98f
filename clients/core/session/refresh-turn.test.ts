import { describe, expect, test } from "vitest"
import type { KeptRecord } from "../keep.ts"
import type { SessionRecord } from "../record.ts"
import {
  beginTurn,
  decideTurn,
  type RefreshMemory,
  type Turn,
  type TurnEffect,
  type TurnEvent,
  type TurnStep,
} from "./refresh-turn.ts"

const user = {
  ...{ sessionId: "ses_1", identityId: "idn_1", principalId: "prn_1" },
  ...{ primaryEmail: undefined, tenantId: undefined, contextId: undefined },
}
const record: SessionRecord = { user, refreshToken: "r1", retryKey: "k1", generation: 3, tokensGoodUntilMs: 0 }
const kept: KeptRecord = { revision: "rev1", record }
const answer = { refreshToken: "r2", accessTokens: { auth: "a" }, expiresIn: 600 }
const nowMs = 1_000_000
const next: SessionRecord = {
  user,
  refreshToken: "r2",
  retryKey: "k2",
  generation: 4,
  tokensGoodUntilMs: nowMs + 600_000,
}
const tokens = new Map([["auth", { token: "a", generation: 4, sinceMs: nowMs, goodUntilMs: nowMs + 600_000 }]])
const memory: RefreshMemory = { generation: 1 }
const unsaved = { after: "rev1", record: next }

const turnAt = (step: TurnStep, change: Partial<Turn> = {}): Turn => ({ memory, round: 1, step, ...change })
const writing: TurnStep = { is: "writing", kept, record: next, tokens }
const removing: TurnStep = { is: "removing", kept, reason: "SESSION_REVOKED" }
const answered: TurnEvent = { on: "answered", answer, nowMs, newRetryKey: "k2" }
const put = (mayFail: boolean): TurnEffect => ({ do: "put", record: next, expected: "rev1", mayFail })

type Row = readonly [name: string, before: Turn, event: TurnEvent, after: Partial<Turn>, effect: TurnEffect]

const rows: readonly Row[] = [
  [
    "a store without a session ends the turn",
    turnAt({ is: "reading" }),
    { on: "loaded", kept: undefined },
    {},
    { do: "end", outcome: { is: "gone" } },
  ],
  [
    "a record is checked before its token is presented",
    turnAt({ is: "reading" }),
    { on: "loaded", kept },
    { step: { is: "checking", kept } },
    { do: "check", kept },
  ],
  [
    "an answer that was not stored is stored before anything is presented",
    turnAt({ is: "reading" }, { memory: { generation: 4, unsaved } }),
    { on: "loaded", kept },
    { step: { is: "savingEarlier", record: next } },
    put(false),
  ],
  [
    "an answer that was not stored is not stored over another record",
    turnAt({ is: "reading" }, { memory: { generation: 4, unsaved } }),
    { on: "loaded", kept: { revision: "rev2", record } },
    { step: { is: "checking", kept: { revision: "rev2", record } } },
    { do: "check", kept: { revision: "rev2", record } },
  ],
  [
    "a stored earlier answer is the record of this turn",
    turnAt({ is: "savingEarlier", record: next }, { memory: { generation: 4, unsaved } }),
    { on: "written", revision: "rev2" },
    { memory: { generation: 4 }, step: { is: "checking", kept: { revision: "rev2", record: next } } },
    { do: "check", kept: { revision: "rev2", record: next } },
  ],
  [
    "an earlier answer that another process has replaced is dropped",
    turnAt({ is: "savingEarlier", record: next }, { memory: { generation: 4, unsaved } }),
    { on: "written", revision: undefined },
    { memory: { generation: 4 }, step: { is: "reading" } },
    { do: "load" },
  ],
  [
    "nothing is presented if another tab has refreshed",
    turnAt({ is: "checking", kept }),
    { on: "checked", isEnough: true },
    {},
    { do: "end", outcome: { is: "enough", kept } },
  ],
  [
    "the stored token is presented with the stored retry key",
    turnAt({ is: "checking", kept }),
    { on: "checked", isEnough: false },
    { step: { is: "presenting", kept } },
    { do: "present", record },
  ],
  [
    "an answer is written over the presented record, with a new retry key and the next generation",
    turnAt({ is: "presenting", kept }),
    answered,
    { memory: { generation: 4 }, step: writing },
    put(true),
  ],
  [
    "a generation never falls below one that this process has received",
    turnAt({ is: "presenting", kept }, { memory: { generation: 9 } }),
    answered,
    {
      memory: { generation: 10 },
      step: {
        is: "writing",
        kept,
        record: { ...next, generation: 10 },
        tokens: new Map([["auth", { token: "a", generation: 10, sinceMs: nowMs, goodUntilMs: nowMs + 600_000 }]]),
      },
    },
    { do: "put", record: { ...next, generation: 10 }, expected: "rev1", mayFail: true },
  ],
  [
    "a refusal that ends the session removes the presented record, and no other",
    turnAt({ is: "presenting", kept }),
    { on: "refused", reason: "SESSION_REVOKED" },
    { step: removing },
    { do: "remove", expected: "rev1" },
  ],
  [
    "tokens count once their record is stored",
    turnAt(writing),
    { on: "written", revision: "rev2" },
    {},
    { do: "end", outcome: { is: "refreshed", kept: { revision: "rev2", record: next }, tokens } },
  ],
  [
    "an answer to an old record is dropped, and the newer record is read",
    turnAt(writing),
    { on: "written", revision: undefined },
    { round: 2, step: { is: "reading" } },
    { do: "load" },
  ],
  [
    "an answer that the store does not accept is remembered with the revision that it replaces",
    turnAt(writing),
    { on: "writeFailed" },
    { memory: { generation: 1, unsaved } },
    { do: "end", outcome: { is: "refreshed", kept, tokens } },
  ],
  [
    "a removed record ends the session",
    turnAt(removing),
    { on: "removed", isOurs: true },
    {},
    { do: "end", outcome: { is: "ended", sessionId: "ses_1", reason: "SESSION_REVOKED" } },
  ],
  [
    "a refusal of an old record ends no session",
    turnAt(removing),
    { on: "removed", isOurs: false },
    { round: 2, step: { is: "reading" } },
    { do: "load" },
  ],
  [
    "the fourth record that another process has replaced ends the turn",
    turnAt(writing, { round: 4 }),
    { on: "written", revision: undefined },
    {},
    { do: "end", outcome: { is: "overtaken" } },
  ],
  [
    "the third does not",
    turnAt(removing, { round: 3 }),
    { on: "removed", isOurs: false },
    { round: 4, step: { is: "reading" } },
    { do: "load" },
  ],
]

describe("a refresh under the lock", () => {
  test("begins by reading the store", () => {
    expect(beginTurn(memory)).toEqual({ turn: turnAt({ is: "reading" }), effect: { do: "load" } })
  })

  test.each(rows)("%s", (_, before, event, after, effect) => {
    expect(decideTurn(before, event)).toEqual({ turn: { ...before, ...after }, effect })
  })

  const steps: readonly (readonly [TurnStep, readonly TurnEvent["on"][]])[] = [
    [{ is: "reading" }, ["loaded"]],
    [{ is: "savingEarlier", record }, ["written"]],
    [{ is: "checking", kept }, ["checked"]],
    [{ is: "presenting", kept }, ["answered", "refused"]],
    [writing, ["written", "writeFailed"]],
    [removing, ["removed"]],
  ]
  const events: readonly TurnEvent[] = [
    { on: "loaded", kept },
    { on: "checked", isEnough: true },
    answered,
    { on: "refused", reason: "SESSION_REVOKED" },
    { on: "written", revision: "rev2" },
    { on: "writeFailed" },
    { on: "removed", isOurs: true },
  ]
  test.each(steps)("accepts no result of another step: $is", (step, accepted) => {
    for (const event of events.filter(({ on }) => !accepted.includes(on))) {
      expect(() => decideTurn(turnAt(step), event)).toThrow(TypeError)
    }
  })
})
