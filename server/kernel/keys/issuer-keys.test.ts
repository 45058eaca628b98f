import { expect, test } from "vitest"
import { type IssuerPurpose, missingPurposes, nextGeneration, signingKey } from "./issuer-keys.ts"

const key = (purpose: IssuerPurpose, generation: number) => ({ purpose, generation })
const keys = [key("PROOF", 1), key("PROOF", 3), key("PROOF", 2), key("LIST", 1)]

test("the newest key in the key set signs, in any order", () => {
  expect(signingKey(keys, "PROOF", () => true)).toEqual(key("PROOF", 3))
  expect(signingKey(keys, "PROOF", ({ generation }) => generation < 3)).toEqual(key("PROOF", 2))
  expect(signingKey(keys, "PROOF", () => false)).toBeUndefined()
  expect(signingKey(keys, "RECEIPT", () => true)).toBeUndefined()
})

test("the first start creates the missing purposes, and generations are consecutive", () => {
  expect(missingPurposes(keys)).toEqual(["CREDENTIAL", "RECEIPT"])
  expect(nextGeneration(keys, "PROOF")).toBe(4)
  expect(nextGeneration(keys, "RECEIPT")).toBe(1)
})
