import { expect, test } from "vitest"
import { changedFields, checkUnchanged, EditConflict } from "./edits.ts"

const opened = { name: "Notes", audiences: "svc-notes", signup: true }

test("only what the person changed is saved", () => {
  expect(changedFields(opened, { ...opened })).toEqual([])
  expect(changedFields(opened, { ...opened, name: "Other", signup: false })).toEqual(["name", "signup"])
})

test("a conflicting change is refused with the old and the new value", () => {
  expect(() => checkUnchanged(opened, { ...opened })).not.toThrow()
  let thrown: unknown
  try {
    checkUnchanged(opened, { ...opened, audiences: "svc-other" })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(EditConflict)
  const expected = [{ field: "audiences", opened: "svc-notes", now: "svc-other" }]
  expect(thrown instanceof EditConflict && thrown.conflicts).toEqual(expected)
})
