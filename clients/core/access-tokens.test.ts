import { expect, test } from "vitest"
import { newest, receivedTokens, refreshAtMs, usableToken } from "./access-tokens.ts"

const tokens = receivedTokens({ accessTokens: { auth: "a" }, expiresIn: 600 }, { generation: 2, nowMs: 1_000 })
const later = receivedTokens({ accessTokens: { svc: "b" }, expiresIn: 60 }, { generation: 3, nowMs: 500_000 })

test("a token is used for its audience until ten seconds before its expiry", () => {
  expect(usableToken(tokens, "auth", 1_000)?.token).toBe("a")
  expect(usableToken(tokens, "auth", 590_999)?.token).toBe("a")
  expect(usableToken(tokens, "auth", 591_000)).toBeUndefined()
  expect(usableToken(tokens, "svc", 1_000)).toBeUndefined()
})

test("the newest generation wins, and the earliest expiry determines the refresh", () => {
  const both = new Map([...later, ...tokens])
  expect([newest(new Map()), newest(tokens), newest(both)]).toEqual([0, 2, 3])
  expect([refreshAtMs(new Map(), 0), refreshAtMs(both, 0), refreshAtMs(both, 1)]).toEqual([undefined, 542_000, 554_000])
})
