import { ConnectError } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { expect, test } from "vitest"
import { changedFields, EditConflict, saveUnlessChanged } from "./edits.ts"

const opened = { name: "Notes", audiences: "svc-notes", signup: true }

test("only what the person changed is saved", () => {
  expect(changedFields(opened, { ...opened })).toEqual([])
  expect(changedFields(opened, { ...opened, name: "Other", signup: false })).toEqual(["name", "signup"])
})

const refusedWith = (reason: string, changed: string) => () => {
  const value = { reason, domain: "signet", metadata: { changed } }
  return Promise.reject(new ConnectError("refused", 10, undefined, [{ desc: ErrorInfoSchema, value }]))
}
const thrownBy = (save: () => Promise<unknown>, now: typeof opened) =>
  saveUnlessChanged(save, { opened, read: async () => now }).then(
    () => undefined,
    (error: unknown) => error,
  )

test("a conflicting change is refused with the old and the new value", async () => {
  const thrown = await thrownBy(refusedWith("ETAG_MISMATCH", "audiences"), { ...opened, audiences: "svc-other" })
  expect(thrown).toBeInstanceOf(EditConflict)
  const expected = [{ field: "audiences", opened: "svc-notes", now: "svc-other" }]
  expect(thrown instanceof EditConflict && thrown.conflicts).toEqual(expected)
})

test("a change of a field that the form does not have is named", async () => {
  const thrown = await thrownBy(refusedWith("ETAG_MISMATCH", "scopes,status"), opened)
  const names = thrown instanceof EditConflict && thrown.conflicts.map(({ field }) => field)
  expect(names).toEqual(["scopes", "status"])
})

test("another refusal stays what it is", async () => {
  const thrown = await thrownBy(refusedWith("STATE_CONFLICT", ""), opened)
  expect(thrown).toBeInstanceOf(ConnectError)
})
