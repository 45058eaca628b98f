import { expect, test } from "vitest"
import { canonicalCodes } from "./errors.ts"
import { codeOf } from "./testing/code-of.ts"
import { refusals } from "./testing/refusals/all.ts"

test.each(refusals.map((row) => [`${row.kind}, ${row.name}: ${row.code}`, row] as const))("%s", (_, row) => {
  expect(codeOf(row.verify)).toBe(row.code)
})

test("each code of the six verifiers is the result of a row", () => {
  const told = new Set<string>(refusals.map(({ code }) => code))
  const elsewhere =
    /^(CPB|AAD|BINDING|QR)_|^GHOST_MEMBER$|^PROOF_(MISSING|UNEXPECTED|SUBJECTS|WRONG_COMMITTER)|STATE_FORK$|LIST_(ROLLBACK|FORK)$/
  expect(canonicalCodes.filter((code) => !elsewhere.test(code) && !told.has(code))).toEqual([])
})
