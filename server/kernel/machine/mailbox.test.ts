import { expect, test } from "vitest"
import { isPostable, parseMailbox, parseMailboxPattern } from "./mailbox.ts"

test("a mailbox is an audience and a name", () => {
  expect(parseMailbox("svc-notes/inbox")).toEqual({ audience: "svc-notes", name: "inbox" })
  expect(parseMailbox("https://notes.example/api/inbox")).toEqual({
    audience: "https://notes.example/api",
    name: "inbox",
  })
})

test.each([
  "",
  "/",
  "svc-notes",
  "svc-notes/",
  "/inbox",
  "svc-notes/*",
  "svc-notes/a b",
  `svc/${"a".repeat(65)}`,
  `${"a".repeat(129)}/in`,
])("%j is not a mailbox", (text) => {
  expect(parseMailbox(text)).toBeUndefined()
  expect(isPostable([text], text)).toBe(false)
})

test("a pattern is a mailbox or all of one audience, never of all audiences", () => {
  expect(parseMailboxPattern("svc-notes/*")).toEqual({ audience: "svc-notes", name: "*" })
  expect(parseMailboxPattern("svc-notes/inbox")).toBeDefined()
  for (const text of ["*", "*/*x", "svc-notes/in*", "/*"]) expect(parseMailboxPattern(text)).toBeUndefined()
})

test.each([
  [["svc-notes/inbox"], true],
  [["svc-notes/*"], true],
  [["svc-mail/*", "svc-notes/*"], true],
  [["svc-notes/other"], false],
  [["svc-note/*"], false],
  [["svc-notes"], false],
  [["*"], false],
  [["*/*"], false],
  [[], false],
])("with %j, posting to svc-notes/inbox is %s", (patterns, expected) => {
  expect(isPostable(patterns, "svc-notes/inbox")).toBe(expected)
})
