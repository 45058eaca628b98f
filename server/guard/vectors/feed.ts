// Builds feed.json: what a reader of the revocation feed reads, and its decisions about calls afterwards.
import { before, entries } from "./feed-entries.ts"
import { freshness, positions } from "./feed-positions.ts"
import { refusals } from "./feed-refusals.ts"
import {
  after,
  call,
  entry,
  type FeedSequence,
  first,
  read,
  readAll,
  revoked,
  statement,
  tokens,
} from "./feed-script.ts"
import { accessKey, nextKey, statementKey } from "./signer.ts"
import { now } from "./situations.ts"
import { audience, issuer } from "./token-parts.ts"

const timely: readonly FeedSequence[] = [
  {
    name: "taken: 60 s old",
    steps: [read(now, first, statement(now - 60, [revoked]), { problem: null, seq: 1, size: 1, asOf: now - 60 })],
  },
  {
    name: "taken: 30 s ahead",
    steps: [read(now, first, statement(now + 30, [revoked]), { problem: null, seq: 1, size: 1, asOf: now + 30 })],
  },
]

const keys: FeedSequence = {
  name: "a revoked key takes along what was verified with it, and statements that it signs",
  steps: [
    call(now, "another key", "allow"),
    readAll(now, [entry(1, "KEY", "key-2"), entry(2, "KEY", "statement-1")], 2),
    call(now, "another key", "KEY_UNKNOWN"),
    call(now, "user", "allow"),
    read(now + 1, after(2), statement(now + 1, [], { seq_from: 2, seq_to: 2, head: 2 }), {
      problem: "KEY_UNKNOWN",
      seq: 2,
      size: 2,
      asOf: now,
    }),
  ],
}

const remembered: FeedSequence = {
  name: "a token that was verified before is looked up again",
  steps: [
    readAll(now, [], 0),
    call(now, "user", "allow"),
    read(now + 1, after(0), statement(now + 1, [revoked]), { problem: null, seq: 1, size: 1, asOf: now + 1 }),
    call(now + 1, "user", "SESSION_REVOKED"),
  ],
}

export const feedVectors = () => ({
  now,
  issuer,
  audience,
  jwks: { keys: [accessKey.jwk, nextKey.jwk] },
  statementJwks: { keys: [statementKey.jwk] },
  tokens,
  sequences: [remembered, ...entries, ...before, ...freshness, ...positions, keys, ...timely, ...refusals],
})
