import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { app, membership } from "../testing/records.ts"
import { intersect, parseScope, scopesHeld } from "./scopes.ts"

describe("a member holds", () => {
  test.each<[string, Partial<typeof membership> | undefined, string, readonly string[]]>([
    ["the app's defaults for the audience", {}, "svc-notes", ["notes.read", "notes.write"]],
    ["what the membership names besides", { scopes: ["notes.admin"] }, "svc-notes", app.scopes.slice(0, 3).map(keyOf)],
    ["nothing that the app does not have", { scopes: ["notes.fly"] }, "svc-notes", ["notes.read", "notes.write"]],
    ["nothing of another audience", { scopes: ["auth.introspect", "notes.admin"] }, "auth", ["auth.introspect"]],
    ["nothing for an audience without scopes", { scopes: ["notes.admin"] }, "svc-mail", []],
    ["nothing while suspended", { status: "SUSPENDED", scopes: ["notes.admin"] }, "svc-notes", []],
    ["nothing without a membership", undefined, "svc-notes", []],
  ])("%s", (_, change, audience, expected) => {
    expect(scopesHeld(app, change && { ...membership, ...change }, audience)).toEqual(expected)
  })
})

test("an intersection is a subset of each list, in the first one's order, without duplicates", () => {
  const some = fc.array(fc.constantFrom("a", "b", "c", "d"))
  fc.assert(
    fc.property(some, fc.array(some, { maxLength: 3 }), (first, others) => {
      const common = intersect(first, ...others)
      const all = [first, ...others]
      expect(common).toEqual([...new Set(first)].filter((name) => all.every((part) => part.includes(name))))
    }),
  )
})

test.each<[string, readonly string[] | undefined]>([
  ["", []],
  ["notes.read", ["notes.read"]],
  ["notes.read notes.write notes.read", ["notes.read", "notes.write"]],
  ["!#[]~", ["!#[]~"]],
  [" notes.read", undefined],
  ["notes.read  notes.write", undefined],
  ["notes.read\tnotes.write", undefined],
  ['notes."read', undefined],
  ["notes\\read", undefined],
  ["nötes", undefined],
  ["notes.read\n", undefined],
  ["x".repeat(128), ["x".repeat(128)]],
  ["x".repeat(129), undefined],
])("the scope parameter %j reads as %j", (text, expected) => {
  expect(parseScope(text)).toEqual(expected)
})

function keyOf({ key }: { key: string }): string {
  return key
}
