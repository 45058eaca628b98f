// Vectors: statements of the revocation feed that are rejected.

import type { FeedProblem } from "../revocation/feed.ts"
import { ids } from "../testing/issuer.ts"
import {
  call,
  type FeedAnswer,
  type FeedSequence,
  first,
  type Json,
  nothing,
  read,
  revoked,
  statement,
  statementClaims,
  tokens,
} from "./feed-script.ts"
import { accessKey, jwt, statementKey } from "./signer.ts"
import { now } from "./situations.ts"

/** A rejected statement: the feed keeps its position. */
const refusal = (name: string, problem: FeedProblem, answer: FeedAnswer): FeedSequence => ({
  name: `not taken: ${name}`,
  steps: [
    read(now, first, answer, { problem, ...nothing }),
    call(now, "user", "allow"),
    call(now + 61, "user", "REVOCATION_STATE_STALE"),
  ],
})
const signedBy = (key: typeof statementKey, typ = "rev+jwt", header: Json = {}): FeedAnswer => {
  return { statement: jwt(key, typ, statementClaims(now, [revoked]), header) }
}
/** A statement with a line break inside one part, which many base64 decoders ignore. */
function brokenLine(part: number): FeedAnswer {
  const parts = jwt(statementKey, "rev+jwt", statementClaims(now, [revoked])).split(".")
  const broken = parts.map((text, i) => (i === part ? `${text.slice(0, 8)}\n${text.slice(8)}` : text))
  const [header = "", payload = "", signature] = broken
  return { statement: part === 1 ? statementKey.signParts(header, payload) : [header, payload, signature].join(".") }
}
const malformed = (name: string, change: Json): FeedSequence =>
  refusal(name, "MALFORMED_CREDENTIAL", statement(now, [revoked], change))
const withEntry = (name: string, change: Json): FeedSequence =>
  malformed(`an entry ${name}`, { entries: [{ ...revoked, ...change }] })

export const refusals: readonly FeedSequence[] = [
  refusal("an answer without a statement", "MALFORMED_CREDENTIAL", { statement: "" }),
  refusal("no JWT", "MALFORMED_CREDENTIAL", { statement: "gibberish" }),
  refusal("an access token", "TYP_NOT_ALLOWED", { statement: tokens.user ?? "" }),
  refusal("a permission snapshot of the same keys", "TYP_NOT_ALLOWED", signedBy(statementKey, "perm+jwt")),
  refusal("another algorithm", "ALG_NOT_ALLOWED", signedBy(statementKey, "rev+jwt", { alg: "none" })),
  refusal("a key that is for access tokens", "KEY_UNKNOWN", signedBy(accessKey)),
  refusal(
    "a key for access tokens under the statements' name",
    "SIGNATURE_INVALID",
    signedBy(accessKey, "rev+jwt", { kid: "statement-1" }),
  ),
  refusal("a critical extension", "MALFORMED_CREDENTIAL", signedBy(statementKey, "rev+jwt", { crit: ["exp"] })),
  refusal("a line end in its header", "MALFORMED_CREDENTIAL", brokenLine(0)),
  refusal("a line end in its payload, though it is signed", "MALFORMED_CREDENTIAL", brokenLine(1)),
  refusal("a line end in its signature", "SIGNATURE_INVALID", brokenLine(2)),
  refusal("another issuer", "ISSUER", statement(now, [revoked], { iss: "https://other.example" })),
  refusal("61 s old", "UNTIMELY", statement(now - 61, [revoked])),
  refusal("from 31 s ahead", "UNTIMELY", statement(now + 31, [revoked])),
  malformed("no entries", { entries: undefined }),
  malformed("entries in an object", { entries: {} }),
  malformed("no log", { log: undefined }),
  malformed("an empty log", { log: "" }),
  malformed("a log with 257 characters", { log: "x".repeat(257) }),
  malformed("no iat", { iat: undefined }),
  malformed("iat with a fraction", { iat: now + 0.5 }),
  malformed("no head", { head: undefined }),
  malformed("seq_to after the head", { seq_to: 2 }),
  malformed("seq_from after seq_to", { seq_from: 2 }),
  malformed("seq_from after seq_to, without entries", { seq_from: 1, seq_to: 0, head: 1, entries: [] }),
  malformed("seq_from below zero", { seq_from: -1 }),
  withEntry("of a kind that nobody knows", { kind: "PLANET" }),
  withEntry("without a key", { key: undefined }),
  withEntry("with an empty key", { key: "" }),
  withEntry("without an end", { exp: undefined }),
  withEntry("after the statement's places", { seq: 2 }),
  withEntry("before the statement's places", { seq: 0 }),
  withEntry("whose issued_before is null", { issued_before: null }),
  withEntry("whose issued_before is text", { issued_before: "1" }),
  withEntry("for an app, though it is of no principal's authority", { app_id: ids.app }),
  withEntry("with a version, though it is of no authority", { min_version: 1 }),
  withEntry("of an authority without an app", { kind: "AUTHORITY", min_version: 1 }),
  withEntry("of an authority without a version", { kind: "AUTHORITY", app_id: ids.app }),
  withEntry("of a policy without a version", { kind: "POLICY" }),
  withEntry("of an epoch that never began", { kind: "ISSUER_EPOCH" }),
]
