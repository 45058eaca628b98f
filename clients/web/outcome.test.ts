import { expect, test } from "vitest"
import { encodeOutcome, type Outcome, parseOutcome } from "./outcome.ts"

const failed = {
  is: "failed",
  state: "s",
  reason: "PROVIDER_REFUSED",
  message: "no",
  metadata: { error: "x" },
} as const

test.each<[Outcome]>([[{ is: "signedIn", state: "s", sessionId: "ses_1", created: true }], [failed]])(
  "a pop-up's message parses to the posted outcome: %j",
  (outcome) => {
    expect(parseOutcome(encodeOutcome(outcome))).toEqual(outcome)
  },
)

test.each([
  undefined,
  null,
  "signedIn",
  { version: 2, is: "signedIn", state: "s", sessionId: "ses_1", created: true },
  { version: 1, is: "signedIn", sessionId: "ses_1" },
  { version: 1, is: "signedIn", state: "s" },
  { version: 1, is: "failed", state: "s", reason: 1, message: "no" },
  { version: 1, is: "failed", state: "s", reason: "CANCELED", message: 1 },
  { version: 1, is: "failed", reason: "CANCELED", message: "no" },
  { version: 1, is: "else", state: "s", reason: "CANCELED", message: "no" },
])("%j is no outcome of this version", (value) => {
  expect(parseOutcome(value)).toBeUndefined()
})

test("an account is created only by the boolean true", () => {
  const outcome = { version: 1, is: "signedIn", state: "s", sessionId: "ses_1" }
  for (const created of [undefined, "true", 1])
    expect(parseOutcome({ ...outcome, created })).toMatchObject({ created: false })
})

test("only texts of the metadata are accepted", () => {
  const metadata = { error: "x", other: 1, more: {} }
  expect(parseOutcome({ version: 1, ...failed, metadata })).toMatchObject({ metadata: { error: "x" } })
})
