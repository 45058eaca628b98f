import { describe, expect, test } from "vitest"
import {
  judgeHeld,
  planSealingFinish,
  planSealingRotation,
  type SealingKeyHolder,
  type SealingKeyRecord,
} from "./sealing.ts"

const record = (id: string, status: SealingKeyRecord["status"], resealedAtMs: number | null = null) => ({
  ...{ id, status, createdAtMs: 0, resealedAtMs },
  stampSealed: status === "CURRENT" ? null : new Uint8Array(1),
})
const holder = (...keyIds: string[]): SealingKeyHolder => ({ keyIds, sealsWith: keyIds[0] ?? "" })
const whyOf = (plan: ReturnType<typeof planSealingRotation> | ReturnType<typeof planSealingFinish>) =>
  plan.is === "refuse" ? plan.why : plan

describe("a rotation of the sealing key", () => {
  test.each<[string, SealingKeyRecord[], string | undefined, SealingKeyHolder[], unknown]>([
    ["begins", [record("a", "CURRENT")], "b", [holder("a", "b")], { is: "begin", from: "a", to: "b" }],
    ["resumes", [record("b", "CURRENT"), record("a", "PREVIOUS")], "b", [], { is: "resume", from: "a", to: "b" }],
    [
      "resumes, in whatever order its keys are read",
      [record("a", "PREVIOUS"), record("b", "CURRENT")],
      "b",
      [],
      { is: "resume", from: "a", to: "b" },
    ],
    ["needs a second key", [record("a", "CURRENT")], undefined, [], "must hold the new sealing key"],
    ["needs a new key", [record("a", "CURRENT")], "a", [], "equals the active sealing key a"],
    ["does not begin without the active key", [record("c", "CURRENT")], "b", [], "The active sealing key is c"],
    ["does not return to a retired key", [record("a", "CURRENT"), record("b", "RETIRED")], "b", [], "b is retired"],
    ["does not begin before the server has started", [], "b", [], "start the server once"],
    [
      "waits for every server",
      [record("a", "CURRENT")],
      "b",
      [holder("a")],
      "1 running servers do not have the new key",
    ],
    [
      "waits for the end of the one before",
      [record("a", "CURRENT"), record("z", "PREVIOUS", 1)],
      "b",
      [],
      "The rotation to a is not finished",
    ],
  ])("%s", (_, records, next, holders, expected) => {
    const said = whyOf(planSealingRotation(records, { key: "a", next }, holders))
    if (typeof expected === "string") expect(said).toContain(expected)
    else expect(said).toEqual(expected)
  })

  const after = [record("b", "CURRENT"), record("a", "PREVIOUS", 1)]
  test.each<[string, SealingKeyRecord[], string[], SealingKeyHolder[], unknown]>([
    ["finishes", after, ["b"], [holder("b")], { is: "finish", from: "a" }],
    ["finishes only what began", [record("b", "CURRENT")], ["b"], [], "No rotation"],
    [
      "does not finish while rows are sealed under the previous key",
      [record("b", "CURRENT"), record("a", "PREVIOUS")],
      ["b"],
      [],
      "Some rows are not yet sealed under the new key",
    ],
    [
      "does not finish with the previous key in the settings",
      after,
      ["b", "a"],
      [],
      "Remove the previous sealing key a",
    ],
    [
      "does not finish while a server has the previous key",
      after,
      ["b"],
      [holder("b", "a")],
      "1 running servers still use",
    ],
  ])("%s", (_, records, held, holders, expected) => {
    const said = whyOf(planSealingFinish(records, held, holders))
    if (typeof expected === "string") expect(said).toContain(expected)
    else expect(said).toEqual(expected)
  })
})

test.each<[string, SealingKeyRecord[], string[], string | undefined]>([
  ["has the active key", [record("a", "CURRENT")], ["a"], undefined],
  ["lacks the active key", [record("a", "CURRENT")], ["b"], "The active sealing key is a"],
  ["has a retired key", [record("b", "CURRENT"), record("a", "RETIRED")], ["b", "a"], "a is retired"],
  ["lacks retired keys", [record("b", "CURRENT"), record("a", "RETIRED"), record("c", "RETIRED", 1)], ["b"], undefined],
  ["lacks the key of remaining rows", [record("b", "CURRENT"), record("a", "PREVIOUS")], ["b"], "still sealed under a"],
  ["has the key of remaining rows", [record("b", "CURRENT"), record("a", "PREVIOUS")], ["b", "a"], undefined],
  ["lacks a key without rows", [record("b", "CURRENT"), record("a", "PREVIOUS", 1)], ["b"], undefined],
])("a process that %s is judged", (_, records, held, expected) => {
  const said = judgeHeld(records, held)
  if (expected === undefined) expect(said).toBeUndefined()
  else expect(said).toContain(expected)
})
