// Vectors: which calls each kind of revocation entry rejects, and for how long.
import type { Reason } from "@signet/kernel/errors"
import { ids } from "../testing/issuer.ts"
import {
  after,
  call,
  context,
  entry,
  type FeedSequence,
  fresh,
  type Json,
  other,
  read,
  readAll,
  statement,
  tokens,
} from "./feed-script.ts"
import { now } from "./situations.ts"

/** A sequence with one entry and the decision for each token. */
function entrySequence(name: string, one: Json, refused: Readonly<Record<string, Reason>>): FeedSequence {
  const ofOneKey = Object.keys(tokens).filter((token) => token !== "user, issued 60 s later")
  return {
    name: `an entry: ${name}`,
    steps: [readAll(now, [one], 1), ...ofOneKey.map((token) => call(now, token, refused[token] ?? "allow"))],
  }
}

export const entries: readonly FeedSequence[] = [
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

export const before: readonly FeedSequence[] = [
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
