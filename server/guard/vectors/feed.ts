// What a follower of the revocation feed reads, and what it then says of calls: feed.json.
import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Reason } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import type { FeedProblem } from "../revocation-feed.ts"
import { encode, ids } from "../testing/issuer.ts"
import { accessKey, jwt, nextKey, statementKey } from "./signer.ts"
import { now } from "./situations.ts"
import { audience, issuer, tokenWith } from "./tokens.ts"

/** What the issuer answers to one question; "unreachable" for nothing. */
type FeedAnswer = { readonly statement: string } | { readonly status: number } | "unreachable"

/** Reads to the end of the log without waiting. */
export interface ReadStep {
  readonly now: number
  readonly exchanges: readonly { readonly asked: string; readonly answer: FeedAnswer }[]
  /** Why it could not be done; null where it could. */
  readonly problem: FeedProblem | null
  /** The last place that was read, how many entries are held, and until when everything is known (0: nothing is). */
  readonly seq: number
  readonly size: number
  readonly asOf: number
}

/** A call of somebody with a token. Nothing but introspection may be asked of the issuer. */
export interface CallStep {
  readonly now: number
  readonly token: string
  /** kinds(USER or SERVICE), delegated ones too, with the freshness of the guard, where it is not said. */
  readonly requirement?: Requirement
  /** What the issuer answers to introspection; "down" for nothing. A guard that is not to ask is answered nothing. */
  readonly introspection?: "active" | "inactive" | "down" | "another token"
  readonly expected: Reason | "allow"
}

export interface FeedSequence {
  readonly name: string
  /** The most entries that are held; 1,000 where it is not said. */
  readonly capacity?: number
  readonly steps: readonly (ReadStep | CallStep)[]
}

type Json = Readonly<Record<string, unknown>>

const other = (kind: "ses" | "prn" | "app" | "ten" | "ctx") => newId(kind, 9, new Uint8Array(10))
const context = newId("ctx", 1, new Uint8Array(10))
const actor = { sub: ids.service, principal_type: "service", client_id: "svc-mail" }
const onBehalf = { gty: "on_behalf_of", sid: undefined, osid: ids.session, job_id: "job-1", act: actor }
const service = {
  sub: ids.service,
  principal_type: "service",
  gty: "client_credentials",
  client_id: "svc-mail",
  cred_id: "scr_1",
  sid: undefined,
  identity_id: undefined,
  auth_time: undefined,
}
const tokens: Readonly<Record<string, string>> = {
  user: tokenWith({ jti: "jti_user", perm_ver: 7, pol_ver: 3 }),
  "user, issued 60 s later": tokenWith({ jti: "jti_later", iat: now + 60, nbf: now + 60, exp: now + 660 }),
  "another session": tokenWith({ jti: "jti_session", sid: other("ses") }),
  "another principal": tokenWith({ jti: "jti_principal", sub: other("prn"), sid: other("ses") }),
  "another app": tokenWith({ jti: "jti_app", app_id: other("app"), sid: other("ses") }),
  "another tenant": tokenWith({ jti: "jti_tenant", tenant_id: other("ten"), sid: other("ses") }),
  "no tenant": tokenWith({ jti: "jti_none", tenant_id: undefined, sid: other("ses") }),
  "a context": tokenWith({ jti: "jti_context", context_id: context, sid: other("ses") }),
  service: tokenWith({ ...service, jti: "jti_service" }),
  "on behalf": tokenWith({ ...onBehalf, jti: "jti_behalf", cred_id: "dlg_1" }),
  "another key": jwtOf(nextKey),
}

function jwtOf(key: typeof nextKey): string {
  return key.signParts(encode({ alg: "ES256", typ: "at+jwt", kid: key.jwk.kid }), tokenWith().split(".")[1] ?? "")
}

let claimsOfLog: Json = {}
/** A statement: of everything up to `head`, now, where nothing else is said. */
function statement(at: number, entries: readonly Json[], change: Json = {}, header: Json = {}): FeedAnswer {
  const head = Math.max(0, ...entries.map(({ seq }) => Number(seq)))
  claimsOfLog = { iss: issuer, iat: at, log: "log-a", seq_from: 0, seq_to: head, head, entries, ...change }
  return { statement: jwt(statementKey, "rev+jwt", claimsOfLog, header) }
}
const entry = (seq: number, kind: string, key: string, change: Json = {}): Json => ({
  seq,
  kind,
  key,
  exp: now + 930,
  ...change,
})
const first = "/auth/revocations/snapshot?after=0"
const after = (seq: number) => `/auth/revocations?after=${seq}&wait=0`

/** Reads one answer. */
function read(at: number, asked: string, answer: FeedAnswer, known: Omit<ReadStep, "now" | "exchanges">): ReadStep {
  return { now: at, exchanges: [{ asked, answer }], ...known }
}
const readAll = (at: number, entries: readonly Json[], seq: number, size = entries.length): ReadStep =>
  read(at, first, statement(at, entries), { problem: null, seq, size, asOf: at })
const call = (at: number, token: string, expected: CallStep["expected"], more: Partial<CallStep> = {}): CallStep => ({
  now: at,
  token,
  ...more,
  expected,
})
const fresh = (maxStalenessMs: number, onStale: "DENY" | "INTROSPECT" | "ALLOW"): Pick<CallStep, "requirement"> => ({
  requirement: { is: "kinds", of: ["USER", "SERVICE"], freshness: { maxStalenessMs, onStale } },
})

/** An entry, and for each token what is said of it. */
function entrySequence(name: string, one: Json, refused: Readonly<Record<string, Reason>>): FeedSequence {
  const ofOneKey = Object.keys(tokens).filter((token) => token !== "user, issued 60 s later")
  return {
    name: `an entry: ${name}`,
    steps: [readAll(now, [one], 1), ...ofOneKey.map((token) => call(now, token, refused[token] ?? "allow"))],
  }
}

const entries: readonly FeedSequence[] = [
  entrySequence("TOKEN", entry(1, "TOKEN", "jti_user"), { user: "TOKEN_REVOKED" }),
  entrySequence("SESSION, also of a delegated token", entry(1, "SESSION", ids.session), {
    user: "SESSION_REVOKED",
    "on behalf": "SESSION_REVOKED",
    "another key": "SESSION_REVOKED",
  }),
  entrySequence("CREDENTIAL of a service", entry(1, "CREDENTIAL", "scr_1"), { service: "CREDENTIAL_REVOKED" }),
  entrySequence("CREDENTIAL of a delegation", entry(1, "CREDENTIAL", "dlg_1"), { "on behalf": "CREDENTIAL_REVOKED" }),
  entrySequence("PRINCIPAL of a service, also where it acts", entry(1, "PRINCIPAL", ids.service), {
    service: "PRINCIPAL_INACTIVE",
    "on behalf": "PRINCIPAL_INACTIVE",
  }),
  entrySequence("PRINCIPAL of another", entry(1, "PRINCIPAL", other("prn")), {
    "another principal": "PRINCIPAL_INACTIVE",
  }),
  entrySequence("APP", entry(1, "APP", other("app")), { "another app": "TENANT_SUSPENDED" }),
  entrySequence("TENANT", entry(1, "TENANT", other("ten")), { "another tenant": "TENANT_SUSPENDED" }),
  entrySequence("CONTEXT", entry(1, "CONTEXT", context), { "a context": "TENANT_SUSPENDED" }),
  entrySequence(
    "AUTHORITY of a principal in an app",
    entry(1, "AUTHORITY", ids.principal, { app_id: other("app"), min_version: 9 }),
    { "another app": "PERMISSIONS_STALE" },
  ),
  entrySequence(
    "AUTHORITY below what the token has",
    entry(1, "AUTHORITY", ids.principal, { app_id: ids.app, min_version: 4 }),
    {
      "another session": "PERMISSIONS_STALE",
      "another tenant": "PERMISSIONS_STALE",
      "no tenant": "PERMISSIONS_STALE",
      "a context": "PERMISSIONS_STALE",
      "on behalf": "PERMISSIONS_STALE",
      "another key": "PERMISSIONS_STALE",
    },
  ),
  entrySequence("POLICY", entry(1, "POLICY", other("app"), { min_version: 2 }), { "another app": "PERMISSIONS_STALE" }),
  entrySequence("POLICY that the token was issued under", entry(1, "POLICY", other("app"), { min_version: 1 }), {}),
  entrySequence("KEY", entry(1, "KEY", "key-2"), { "another key": "KEY_UNKNOWN" }),
  entrySequence("of another kind with the same key", entry(1, "CREDENTIAL", "jti_user"), {}),
  entrySequence(
    "about what was issued before any of the tokens",
    entry(1, "TOKEN", "jti_none", { exp: now + 930, issued_before: 1 }),
    {},
  ),
]

const issuedBefore = (name: string, one: Json, token = "user"): FeedSequence => ({
  name: `issued_before: ${name}`,
  steps: [
    readAll(now + 60, [{ ...one, issued_before: now + 60 }], 1),
    call(now + 60, token, "TOKEN_REVOKED"),
    call(now + 60, "user, issued 60 s later", "allow"),
  ],
})

const before: readonly FeedSequence[] = [
  issuedBefore("a principal that was resumed", entry(1, "PRINCIPAL", ids.principal)),
  issuedBefore("a service that was resumed, where it acts", entry(1, "PRINCIPAL", ids.service), "on behalf"),
  issuedBefore("an app that was resumed", entry(1, "APP", ids.app)),
  issuedBefore("a tenant that was resumed", entry(1, "TENANT", ids.tenant)),
  issuedBefore("a context that was resumed", entry(1, "CONTEXT", context), "a context"),
  issuedBefore("an epoch of the issuer", entry(1, "ISSUER_EPOCH", "all")),
  {
    name: "a later entry of the same key takes the place of an earlier one",
    steps: [
      readAll(now, [entry(1, "PRINCIPAL", ids.principal)], 1),
      call(now, "user", "PRINCIPAL_INACTIVE"),
      read(
        now + 60,
        after(1),
        statement(now + 60, [entry(2, "PRINCIPAL", ids.principal, { issued_before: now + 60 })], { seq_from: 1 }),
        { problem: null, seq: 2, size: 1, asOf: now + 60 },
      ),
      call(now + 60, "user", "TOKEN_REVOKED"),
      call(now + 60, "user, issued 60 s later", "allow"),
    ],
  },
  {
    name: "an entry that is over is not held",
    steps: [
      readAll(
        now,
        [entry(1, "SESSION", ids.session, { exp: now - 30 }), entry(2, "TENANT", ids.tenant, { exp: now - 29 })],
        2,
        1,
      ),
      call(now, "user", "TENANT_SUSPENDED"),
    ],
  },
  {
    name: "an entry that is over is forgotten 30 s later",
    steps: [
      readAll(now, [entry(1, "TENANT", ids.tenant, { exp: now + 40 })], 1),
      call(now + 69, "user", "TENANT_SUSPENDED", fresh(600_000, "DENY")),
      call(now + 70, "user", "allow", fresh(600_000, "DENY")),
    ],
  },
]

const freshness: readonly FeedSequence[] = [
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

const revoked = entry(1, "SESSION", ids.session)
const two = [revoked, entry(2, "TOKEN", "jti_app")]
const nothing = { seq: 0, size: 0, asOf: 0 }

const positions: readonly FeedSequence[] = [
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

/** A statement that is not taken: the feed stays where it was. */
const refusal = (name: string, problem: FeedProblem, answer: FeedAnswer): FeedSequence => ({
  name: `not taken: ${name}`,
  steps: [
    read(now, first, answer, { problem, ...nothing }),
    call(now, "user", "allow"),
    call(now + 61, "user", "REVOCATION_STATE_STALE"),
  ],
})
const signedBy = (key: typeof statementKey, typ = "rev+jwt", header: Json = {}): FeedAnswer => {
  statement(now, [revoked])
  return { statement: jwt(key, typ, claimsOfLog, header) }
}
/** A statement with a line end in one of its parts: what many decoders of base64 pass over. */
function brokenLine(part: number): FeedAnswer {
  statement(now, [revoked])
  const parts = jwt(statementKey, "rev+jwt", claimsOfLog).split(".")
  const broken = parts.map((text, i) => (i === part ? `${text.slice(0, 8)}\n${text.slice(8)}` : text))
  const [header = "", payload = "", signature] = broken
  return { statement: part === 1 ? statementKey.signParts(header, payload) : [header, payload, signature].join(".") }
}
const malformed = (name: string, change: Json): FeedSequence =>
  refusal(name, "MALFORMED_CREDENTIAL", statement(now, [revoked], change))
const withEntry = (name: string, change: Json): FeedSequence =>
  malformed(`an entry ${name}`, { entries: [{ ...revoked, ...change }] })

const refusals: readonly FeedSequence[] = [
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
