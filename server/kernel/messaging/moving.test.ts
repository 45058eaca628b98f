import { expect, test } from "vitest"
import { decideStep, isReadable, isWritable, mayExport, type PlaceState, type TransferStep } from "./moving.ts"

const ours = new Uint8Array(16).fill(1)
const theirs = new Uint8Array(16).fill(2)
const steps: readonly TransferStep[] = ["HOLD", "RECEIVE", "FINISH", "RELEASE", "ABORT", "ERASE"]

/** The result of each step, in the order of `steps`: a state, "there", or "-" for a refusal. */
const said = (state: PlaceState, transferId: Uint8Array | null, isEmpty: boolean): string =>
  steps
    .map((step) => {
      const decision = decideStep(step, { state, transferId, changedAtMs: 0, isEmpty }, ours)
      if (decision.is === "go") return decision.to
      return decision.is === "there" ? "there" : "-"
    })
    .join(" ")

test.each<[PlaceState, Uint8Array | null, boolean, string]>([
  ["OPEN", null, true, "HELD RECEIVING - - there -"],
  ["OPEN", null, false, "HELD - - - there -"],
  ["OPEN", ours, false, "HELD - there - - -"],
  ["OPEN", theirs, false, "HELD - - - - -"],
  ["HOLDING", ours, false, "HELD - - - OPEN -"],
  ["HOLDING", theirs, false, "- - - - - -"],
  ["HELD", ours, false, "there - GIVEN - OPEN -"],
  ["HELD", theirs, false, "- - - - - -"],
  ["GIVEN", ours, false, "there - there MOVED - -"],
  ["GIVEN", theirs, false, "- - - - - -"],
  ["RECEIVING", ours, false, "- there OPEN - - RECEIVING"],
  ["RECEIVING", ours, true, "- there OPEN - MOVED RECEIVING"],
  ["RECEIVING", theirs, false, "- - - - - -"],
  ["MOVED", ours, false, "- - - there there MOVED"],
  ["MOVED", theirs, false, "- - - - - MOVED"],
  ["MOVED", theirs, true, "- RECEIVING - - - MOVED"],
])("a place that is %s", (state, transferId, isEmpty, expected) => {
  expect(said(state, transferId, isEmpty)).toBe(expected)
})

test.each<[PlaceState, boolean, boolean, boolean]>([
  ["OPEN", false, true, true],
  ["HOLDING", false, true, false],
  ["HELD", true, true, false],
  ["GIVEN", true, true, false],
  ["RECEIVING", true, false, false],
  ["MOVED", false, false, false],
])("a place that is %s: exported %s, read %s, written %s", (state, isExported, canRead, canWrite) => {
  const of = (transferId: Uint8Array | null) => ({ state, transferId, changedAtMs: 0, isEmpty: false })
  expect(mayExport(of(ours), ours)).toBe(isExported)
  for (const other of [theirs, null, ours.subarray(0, 15), new Uint8Array(17).fill(1)]) {
    expect(mayExport(of(other), ours)).toBe(false)
  }
  expect([isReadable(state), isWritable(state)]).toEqual([canRead, canWrite])
})
