import { expect, test } from "vitest"
import { newId } from "../ids.ts"
import { isAddressee } from "./addressee.ts"

const [one, other] = [1, 2].map((byte) => newId("ten", 1, new Uint8Array(10).fill(byte)))
const owner = { ownedAudiences: ["svc-notes"], tenantId: null }
const token = { audience: "svc-notes", tenantId: one ?? null }

test.each<[string, Parameters<typeof isAddressee>, boolean]>([
  ["the audience's owner", [owner, token], true],
  ["the owner, of a token without a tenant", [owner, { ...token, tenantId: null }], true],
  ["no owner", [{ ...owner, ownedAudiences: ["svc-mail"] }, token], false],
  ["an owner in the token's tenant", [{ ...owner, tenantId: one ?? null }, token], true],
  ["an owner in another tenant", [{ ...owner, tenantId: other ?? null }, token], false],
  [
    "an owner in a tenant, of a token without one",
    [
      { ...owner, tenantId: one ?? null },
      { ...token, tenantId: null },
    ],
    false,
  ],
])("%s", (_, of, expected) => {
  expect(isAddressee(...of)).toBe(expected)
})
