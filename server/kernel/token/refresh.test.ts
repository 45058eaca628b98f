import { expect, test } from "vitest"
import type { RefreshToken, Session } from "../records.ts"
import { refreshToken, session } from "../testing/records.ts"
import { decideRotation, type Presented } from "./refresh.ts"

const sealed = new Uint8Array([7])
const rotated: Partial<RefreshToken> = { usedAtMs: 2_000, rotatedAtMs: 2_000, successorSealed: sealed }

test.each<[string, Partial<RefreshToken> | undefined, Partial<Session>, Partial<Presented>, string]>([
  ["a current token is rotated", {}, {}, {}, "rotate"],
  ["an unknown token is refused", undefined, {}, {}, "refuse"],
  ["a token serves until just before its expiry", { expiresAtMs: 3_001 }, {}, {}, "rotate"],
  ["a token expires at its expiry, not after", { expiresAtMs: 3_000 }, {}, {}, "refuse"],
  ["a session's idle limit ends its tokens", {}, { idleExpiresAtMs: 3_000 }, {}, "refuse"],
  ["a revoked token is refused", { revokedAtMs: 2_500 }, {}, {}, "refuse"],
  ["a rotated token ends its family", rotated, {}, {}, "reuse"],
  ["a rotated token ends its family even when it is expired", { ...rotated, expiresAtMs: 2_500 }, {}, {}, "reuse"],
  ["a family that has ended does not end again", rotated, { status: "REVOKED" }, {}, "refuse"],
  ["the same retry key brings the same successor", rotated, {}, { retryKeyMatches: true }, "retry"],
  ["a retry serves until just before its window ends", rotated, {}, { retryKeyMatches: true, nowMs: 601_999 }, "retry"],
  [
    "a retry brings no tokens for a session that has expired",
    rotated,
    { absoluteExpiresAtMs: 3_000 },
    { retryKeyMatches: true },
    "refuse",
  ],
  ["a retry after its window is a reuse", rotated, {}, { retryKeyMatches: true, nowMs: 602_000 }, "reuse"],
  ["a retry ends with its session", rotated, { absoluteExpiresAtMs: 3_000 }, { retryKeyMatches: true }, "refuse"],
  ["a reuse is one even after its session's end", rotated, { absoluteExpiresAtMs: 3_000 }, {}, "reuse"],
  [
    "a window of 0 is the literal rule",
    rotated,
    {},
    { retryKeyMatches: true, retryWindowMs: 0, nowMs: 2_000 },
    "reuse",
  ],
  [
    "a retry after the successor was used is a reuse",
    { ...rotated, confirmedAtMs: 2_500 },
    {},
    { retryKeyMatches: true },
    "reuse",
  ],
  [
    "a token rotated without a retry key has no retry",
    { ...rotated, successorSealed: null },
    {},
    { retryKeyMatches: true },
    "reuse",
  ],
])("%s", (_, token, of, change, expected) => {
  const rotation = decideRotation({
    token: token && { ...refreshToken, ...token },
    session: { ...session, ...of },
    retryKeyMatches: false,
    retryWindowMs: 600_000,
    nowMs: 3_000,
    ...change,
  })
  expect(rotation.is).toBe(expected)
})
