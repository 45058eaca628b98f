import { describe, expect, test } from "vitest"
import { entryClaims, type LoggedRevocation } from "./entry.ts"
import {
  type FeedPosition,
  feedStart,
  judgeStatement,
  maxEntries,
  parseStatement,
  type RevocationStatement,
  statementClaims,
} from "./statement.ts"

const nowMs = 1_800_000_000_000
const issuer = "https://auth.example"
const statement = (change: Partial<RevocationStatement> = {}): RevocationStatement => ({
  issuer,
  log: "log-a",
  from: 10,
  to: 12,
  head: 12,
  asOfMs: nowMs,
  entries: [],
  ...change,
})
const at: FeedPosition = { log: "log-a", seq: 10, head: 10, asOfMs: nowMs - 5_000 }
const judge = (change: Partial<RevocationStatement>, position: FeedPosition = at) =>
  judgeStatement(position, statement(change), { issuer, nowMs })

describe("a statement is accepted", () => {
  test.each<[string, Partial<RevocationStatement>, FeedPosition, FeedPosition]>([
    ["when it follows the reader's position", {}, at, { log: "log-a", seq: 12, head: 12, asOfMs: nowMs }],
    ["when it overlaps with that", { from: 3 }, at, { log: "log-a", seq: 12, head: 12, asOfMs: nowMs }],
    ["when there is nothing new", { to: 10, head: 10 }, at, { log: "log-a", seq: 10, head: 10, asOfMs: nowMs }],
    ["from the beginning, first of all", { from: 0 }, feedStart, { log: "log-a", seq: 12, head: 12, asOfMs: nowMs }],
    ["page by page: until the last, no more is known than before", { head: 99 }, at, { ...at, seq: 12, head: 99 }],
    [
      "from the beginning of another log, and what was known stays known",
      { log: "log-b", from: 0, to: 1, head: 3 },
      at,
      { log: "log-b", seq: 1, head: 3, asOfMs: at.asOfMs },
    ],
    ["when it ends before what was read", { from: 3, to: 8 }, at, { ...at, head: 12 }],
    ["up to 30 s ahead", { asOfMs: nowMs + 30_000 }, at, { ...at, seq: 12, head: 12, asOfMs: nowMs + 30_000 }],
    [
      "up to a minute late",
      { from: 0, asOfMs: nowMs - 60_000 },
      feedStart,
      { log: "log-a", seq: 12, head: 12, asOfMs: nowMs - 60_000 },
    ],
    [
      "of another log of the same time",
      { log: "log-b", from: 0, asOfMs: at.asOfMs },
      at,
      { log: "log-b", seq: 12, head: 12, asOfMs: at.asOfMs },
    ],
    ["late, and knowledge does not get older", { asOfMs: nowMs - 9_000 }, at, { ...at, seq: 12, head: 12 }],
  ])("%s", (_, change, position, next) => {
    expect(judge(change, position)).toEqual(next)
  })
})

describe("a statement is rejected", () => {
  test.each<[string, Partial<RevocationStatement>, FeedPosition, string]>([
    ["of another issuer", { issuer: "https://other.example" }, at, "ISSUER"],
    ["from the future", { asOfMs: nowMs + 30_001 }, at, "UNTIMELY"],
    ["that was kept for more than a minute", { asOfMs: nowMs - 60_001 }, at, "UNTIMELY"],
    ["of a log that ends before what was read", { from: 9, to: 9, head: 9 }, at, "ROLLBACK"],
    ["of a log that ends before what it said to have", { from: 0, head: 98 }, { ...at, seq: 0, head: 99 }, "ROLLBACK"],
    ["that leaves something out", { from: 11 }, at, "GAP"],
    ["of another log, but from its beginning", { log: "log-b" }, at, "GAP"],
    ["first of all, but from the beginning", { from: 1 }, feedStart, "GAP"],
    ["of another log, from before this one's", { log: "log-b", from: 0, asOfMs: nowMs - 6_000 }, at, "UNTIMELY"],
  ])("%s", (_, change, position, refusal) => {
    expect(judge(change, position)).toBe(refusal)
  })
})

const entry: LoggedRevocation = { seq: 11, kind: "SESSION", key: "ses_1", expiresAtMs: nowMs }

test("an encoded statement parses, with times rounded so that nothing expires early", () => {
  const entries: LoggedRevocation[] = [
    { ...entry, expiresAtMs: nowMs + 1 },
    { seq: 12, kind: "AUTHORITY", key: "prn_1", appId: "app_1", minVersion: 7, expiresAtMs: nowMs },
    { seq: 12, kind: "PRINCIPAL", key: "prn_1", issuedBeforeMs: nowMs - 500, expiresAtMs: nowMs },
  ]
  const written: unknown = JSON.parse(JSON.stringify(statementClaims(statement({ asOfMs: nowMs + 999, entries }))))
  const read = entries.map((one, i) => ({
    ...one,
    ...(i === 0 ? { expiresAtMs: nowMs + 1_000 } : {}),
    ...(i === 2 ? { issuedBeforeMs: nowMs } : {}),
  }))
  expect(parseStatement(written)).toEqual(statement({ entries: read }))
})

test("the maximum number of entries with the longest keys parses, and so does an empty range", () => {
  const entries = Array.from({ length: maxEntries }, () => ({ ...entry, key: "k".repeat(256) }))
  const written = (of: Partial<RevocationStatement>): unknown =>
    JSON.parse(JSON.stringify(statementClaims(statement(of))))
  expect(parseStatement(written({ entries }))?.entries).toHaveLength(maxEntries)
  expect(parseStatement(written({ from: 12 }))).toEqual(statement({ from: 12 }))
})

describe("a malformed statement does not parse", () => {
  const claims = statementClaims(statement({ entries: [entry] }))
  const withEntry = (change: object) => ({ ...claims, entries: [{ ...entryClaims(entry), ...change }] })
  test.each<[string, unknown]>([
    ["of no object", "statement"],
    ["without an issuer", { ...claims, iss: undefined }],
    ["without a time", { ...claims, iat: "now" }],
    ["without a log", { ...claims, log: "" }],
    ["of a range that ends before it begins", { ...claims, seq_from: 13, entries: [] }],
    ["of a time before the epoch", { ...claims, iat: -1 }],
    ["of a beginning that is no number", { ...claims, seq_from: "10" }],
    ["of half a place", { ...claims, seq_from: 10.5 }],
    ["without a head", { ...claims, head: undefined }],
    ["of entries that are no list", { ...claims, entries: { length: 0, map: [] } }],
    ["with an entry that is a text", { ...claims, entries: ["entry"] }],
    ["with an entry that is null", { ...claims, entries: [null] }],
    ["with an entry of half a place", withEntry({ seq: 11.5 })],
    ["with an entry beyond the range", withEntry({ seq: 13 })],
    ["with authority in an app that is a number", withEntry({ kind: "AUTHORITY", min_version: 7, app_id: 5 })],
    ["with authority in an app without a name", withEntry({ kind: "AUTHORITY", min_version: 7, app_id: "" })],
    ["with an entry that ended before the epoch", withEntry({ exp: -1 })],
    ["with an entry whose key is too long", withEntry({ key: "k".repeat(257) })],
    ["with an entry whose app is a number", withEntry({ app_id: 1 })],
    ["with an entry whose moment is a text", withEntry({ kind: "PRINCIPAL", issued_before: "now" })],
    [
      "with an entry of authority whose version is a text",
      withEntry({ kind: "AUTHORITY", app_id: "a", min_version: "1" }),
    ],
    ["of a range beyond the head", { ...claims, head: 11 }],
    ["of a place that is no number", { ...claims, seq_to: 2 ** 53 }],
    ["of more entries than a statement has", { ...claims, entries: Array(maxEntries + 1).fill(claims) }],
    ["with an entry outside of the range", withEntry({ seq: 10 })],
    ["with an entry of a kind that is not known", withEntry({ kind: "PLANET" })],
    ["with an entry without a key", withEntry({ key: "" })],
    ["with an entry that never ends", withEntry({ exp: undefined })],
    ["with an entry of authority without a version", withEntry({ kind: "AUTHORITY", app_id: "app_1" })],
    ["with an entry of authority without an app", withEntry({ kind: "AUTHORITY", min_version: 1 })],
    ["with a version where there is none", withEntry({ min_version: 1 })],
    ["with an epoch for every token there will ever be", withEntry({ kind: "ISSUER_EPOCH", key: "all" })],
  ])("%s", (_, payload) => {
    expect(parseStatement(payload)).toBeUndefined()
  })
})
