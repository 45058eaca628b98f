// Vectors: the age of a feed's knowledge, and the reading of its log: gaps, rollbacks, new logs, pages.
import { ids } from "../testing/issuer.ts"
import {
  after,
  call,
  entry,
  type FeedSequence,
  first,
  fresh,
  nothing,
  read,
  readAll,
  revoked,
  statement,
  two,
} from "./feed-script.ts"
import { now } from "./situations.ts"

export const freshness: readonly FeedSequence[] = [
  {
    name: "before the first statement a token is as fresh as it is young",
    steps: [
      call(now, "user", "allow"),
      call(now + 60, "user", "allow"),
      call(now + 61, "user", "REVOCATION_STATE_STALE"),
      call(now + 61, "user", "allow", { introspection: "active" }),
    ],
  },
  {
    name: "an old feed: DENY refuses, INTROSPECT asks, ALLOW goes on",
    steps: [
      readAll(now, [], 0),
      call(now + 60, "user", "allow", fresh(60_000, "DENY")),
      call(now + 61, "user", "REVOCATION_STATE_STALE", { ...fresh(60_000, "DENY"), introspection: "active" }),
      call(now + 61, "user", "allow", { ...fresh(60_000, "INTROSPECT"), introspection: "active" }),
      call(now + 61, "user", "TOKEN_REVOKED", { ...fresh(60_000, "INTROSPECT"), introspection: "inactive" }),
      call(now + 61, "user", "REVOCATION_STATE_STALE", { ...fresh(60_000, "INTROSPECT"), introspection: "down" }),
      call(now + 61, "user", "REVOCATION_STATE_STALE", {
        ...fresh(60_000, "INTROSPECT"),
        introspection: "another token",
      }),
      call(now + 61, "user", "allow", fresh(60_000, "ALLOW")),
      call(now + 61, "user", "allow", fresh(61_000, "DENY")),
      call(now + 61, "user, issued 60 s later", "allow", fresh(60_000, "DENY")),
      read(now + 61, after(0), statement(now + 61, []), { problem: null, seq: 0, size: 0, asOf: now + 61 }),
      call(now + 61, "user", "allow", fresh(60_000, "DENY")),
    ],
  },
  {
    name: "what is known is refused, however old it is, and whatever introspection says",
    steps: [
      readAll(now, [entry(1, "SESSION", ids.session)], 1),
      call(now + 120, "user", "SESSION_REVOKED", { ...fresh(60_000, "INTROSPECT"), introspection: "active" }),
      call(now + 120, "user", "SESSION_REVOKED", fresh(60_000, "ALLOW")),
    ],
  },
  {
    name: "introspection is asked for any part that wants it, also where another part got further",
    steps: [
      readAll(now, [], 0),
      call(now + 61, "user", "allow", {
        requirement: {
          is: "anyOf",
          of: [
            { is: "scope", scope: "notes.write", freshness: { maxStalenessMs: 0, onStale: "ALLOW" } },
            { is: "kinds", of: ["USER"], freshness: { maxStalenessMs: 60_000, onStale: "INTROSPECT" } },
          ],
        },
        introspection: "active",
      }),
    ],
  },
  {
    name: "an age of nothing asks about every token that is not of this moment",
    steps: [
      readAll(now + 1, [], 0),
      call(now + 1, "user", "allow", fresh(0, "DENY")),
      call(now + 2, "user", "REVOCATION_STATE_STALE", fresh(0, "DENY")),
    ],
  },
  {
    name: "an issuer that does not answer leaves the feed as it was",
    steps: [
      readAll(now, [entry(1, "SESSION", ids.session)], 1),
      read(now + 30, after(1), "unreachable", { problem: "UNREACHABLE", seq: 1, size: 1, asOf: now }),
      read(now + 30, after(1), { status: 503 }, { problem: "UNREACHABLE", seq: 1, size: 1, asOf: now }),
      read(now + 30, after(1), { status: 302 }, { problem: "UNREACHABLE", seq: 1, size: 1, asOf: now }),
      call(now + 30, "user", "SESSION_REVOKED"),
      call(now + 61, "another session", "REVOCATION_STATE_STALE"),
    ],
  },
]

export const positions: readonly FeedSequence[] = [
  {
    name: "a gap leads to the beginning",
    steps: [
      readAll(now, [revoked], 1),
      {
        now: now + 10,
        exchanges: [
          { asked: after(1), answer: statement(now + 10, [entry(3, "TOKEN", "jti_none")], { seq_from: 2 }) },
          { asked: first, answer: statement(now + 10, [...two, entry(3, "TOKEN", "jti_none")]) },
        ],
        problem: null,
        seq: 3,
        size: 3,
        asOf: now + 10,
      },
      call(now + 10, "user", "SESSION_REVOKED"),
      call(now + 10, "another app", "TOKEN_REVOKED"),
      call(now + 10, "no tenant", "TOKEN_REVOKED"),
    ],
  },
  {
    name: "a log with a gap at its beginning, time and again, is not believed",
    steps: [
      {
        now,
        exchanges: [1, 2, 3, 4].map(() => ({
          asked: first,
          answer: statement(now, [entry(2, "TOKEN", "x")], { seq_from: 1 }),
        })),
        problem: "GAP",
        ...nothing,
      },
    ],
  },
  {
    name: "a log that ends before what was read of it is not believed, and what was read stays",
    steps: [
      readAll(now, two, 2),
      read(now + 61, after(2), statement(now + 61, [], { seq_from: 1, seq_to: 1, head: 1 }), {
        problem: "ROLLBACK",
        seq: 2,
        size: 2,
        asOf: now,
      }),
      call(now + 61, "user", "SESSION_REVOKED"),
      call(now + 61, "another session", "REVOCATION_STATE_STALE", fresh(60_000, "DENY")),
    ],
  },
  {
    name: "a log that ended further once does not end earlier, from its beginning either",
    steps: [
      readAll(now, two, 2),
      {
        now: now + 10,
        exchanges: [
          { asked: after(2), answer: statement(now + 10, [], { seq_from: 5, seq_to: 6, head: 6 }) },
          { asked: first, answer: statement(now + 10, [], { seq_to: 1, head: 1 }) },
        ],
        problem: "ROLLBACK",
        seq: 0,
        size: 2,
        asOf: now,
      },
    ],
  },
  {
    name: "a new log is read from its beginning, and nothing is forgotten",
    steps: [
      readAll(now, two, 2),
      {
        now: now + 10,
        exchanges: [
          { asked: after(2), answer: statement(now + 10, [], { log: "log-b", seq_from: 1, seq_to: 1, head: 1 }) },
          { asked: first, answer: statement(now + 10, [entry(1, "TOKEN", "jti_none")], { log: "log-b" }) },
        ],
        problem: null,
        seq: 1,
        size: 3,
        asOf: now + 10,
      },
      call(now + 10, "user", "SESSION_REVOKED"),
      call(now + 10, "no tenant", "TOKEN_REVOKED"),
    ],
  },
  {
    name: "a new log that is older than the last word of the one before is a replay",
    steps: [
      readAll(now, two, 2),
      read(now + 10, after(2), statement(now - 1, [], { log: "log-b" }), {
        problem: "UNTIMELY",
        seq: 2,
        size: 2,
        asOf: now,
      }),
    ],
  },
  {
    name: "a log is read page by page, and is known when its end is",
    steps: [
      {
        now,
        exchanges: [
          { asked: first, answer: statement(now, [revoked], { head: 2 }) },
          { asked: after(1), answer: statement(now, [entry(2, "TOKEN", "jti_app")], { seq_from: 1 }) },
        ],
        problem: null,
        seq: 2,
        size: 2,
        asOf: now,
      },
      call(now, "another app", "TOKEN_REVOKED"),
    ],
  },
  {
    name: "a page without the end is not known until the end is",
    steps: [
      {
        now,
        exchanges: [
          { asked: first, answer: statement(now, [revoked], { head: 2 }) },
          { asked: after(1), answer: "unreachable" },
        ],
        problem: "UNREACHABLE",
        seq: 1,
        size: 1,
        asOf: 0,
      },
      call(now, "user", "SESSION_REVOKED"),
      call(now + 61, "another session", "REVOCATION_STATE_STALE"),
    ],
  },
  {
    name: "a page without the end makes a feed no fresher",
    steps: [
      readAll(now, [revoked], 1),
      {
        now: now + 30,
        exchanges: [
          {
            asked: after(1),
            answer: statement(now + 30, [entry(2, "TOKEN", "jti_app")], { seq_from: 1, head: 3 }),
          },
          { asked: after(2), answer: "unreachable" },
        ],
        problem: "UNREACHABLE",
        seq: 2,
        size: 2,
        asOf: now,
      },
      call(now + 61, "another session", "REVOCATION_STATE_STALE"),
    ],
  },
  {
    name: "a statement that was told before changes nothing",
    steps: [
      readAll(now, two, 2),
      read(now + 10, after(2), statement(now + 10, two), { problem: null, seq: 2, size: 2, asOf: now + 10 }),
      read(now + 20, after(2), statement(now + 5, two), { problem: null, seq: 2, size: 2, asOf: now + 10 }),
    ],
  },
  {
    name: "what was read is not taken back by an older entry of the same key",
    steps: [
      readAll(now, [entry(1, "TOKEN", "x"), entry(2, "PRINCIPAL", ids.principal)], 2),
      read(
        now + 10,
        after(2),
        statement(now + 10, [entry(1, "PRINCIPAL", ids.principal, { issued_before: 1 })], { seq_to: 2, head: 2 }),
        { problem: null, seq: 2, size: 2, asOf: now + 10 },
      ),
      call(now + 10, "user", "PRINCIPAL_INACTIVE"),
    ],
  },
  {
    name: "more entries than there is room for: stale, and nothing of it forgotten",
    capacity: 2,
    steps: [
      read(now, first, statement(now, [...two, entry(3, "TOKEN", "jti_none")]), {
        problem: "FULL",
        seq: 0,
        size: 2,
        asOf: 0,
      }),
      call(now, "user", "SESSION_REVOKED"),
      call(now + 61, "another session", "REVOCATION_STATE_STALE"),
    ],
  },
]
