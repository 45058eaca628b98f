import { expect, test } from "vitest"
import { isDue } from "./deletion.ts"

test.each<[string, Parameters<typeof isDue>[0], boolean]>([
  ["at its time", { status: "DELETION_PENDING", deletesAtMs: 1_000 }, true],
  ["not a moment before", { status: "DELETION_PENDING", deletesAtMs: 1_001 }, false],
  ["not without a time", { status: "DELETION_PENDING", deletesAtMs: null }, false],
  ["not when its person came back", { status: "ACTIVE", deletesAtMs: 1_000 }, false],
  ["not twice", { status: "DELETED", deletesAtMs: 1_000 }, false],
  ["not when nobody is there", undefined, false],
])("an identity is erased %s", (_, identity, expected) => {
  expect(isDue(identity, 1_000)).toBe(expected)
})
