import { ReasonSchema } from "@signet/proto/authz/v1/reason"
import { expect, test } from "vitest"
import { t } from "./why.ts"

test("every reason that a step can decide with says what would have to change", () => {
  const names = ReasonSchema.values.filter(({ number }) => number > 0 && number < 140).map(({ name }) => name)
  const decided = [...names, "DEVICE_REQUIRED", "DEVICE_PROOF_INVALID"]
  expect(Object.keys(t.why.changes).toSorted()).toEqual(decided.toSorted())
})
