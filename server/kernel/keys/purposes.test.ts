import { expect, test } from "vitest"
import { purposeOf, signedTypes } from "./purposes.ts"

test("every type belongs to one key purpose", () => {
  expect(Object.fromEntries(signedTypes.map((typ) => [typ, purposeOf(typ)]))).toEqual({
    "at+jwt": "ACCESS",
    "rev+jwt": "STATEMENT",
    "perm+jwt": "STATEMENT",
    "aud-cp+jwt": "STATEMENT",
    "ctx+jwt": "CONTEXT",
    "ekc+jwt": "CONTEXT",
  })
})

test.each(["", "JWT", "AT+JWT", "at+jwt ", "toString", "__proto__"])("the type %j is not signed", (typ) => {
  expect(() => purposeOf(typ)).toThrow(RangeError)
})
