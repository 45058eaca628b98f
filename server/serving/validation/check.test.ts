import { expect, test } from "vitest"
import { unless } from "./check.ts"

const isText = (value: unknown): value is string => typeof value === "string"

test("a value of another type than its schema's is a bug, and breaks no rule", () => {
  const check = unless(isText, (text) => text.length < 3, "must be short")
  expect([check("ab"), check("abc")]).toEqual([[], ["must be short"]])
  expect(() => check(Uint8Array.of(1))).toThrow("does not match its schema")
})
