// Building blocks of the sequences in feed.json: tokens, statements, and the steps that read them.
import type { Requirement } from "@signet/kernel/authz/requirement"
import type { Reason } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import type { FeedProblem } from "../revocation/feed.ts"
import { encode, ids } from "../testing/issuer.ts"
import { jwt, nextKey, statementKey } from "./signer.ts"
import { now } from "./situations.ts"
import { issuer, tokenWith } from "./token-parts.ts"

/** The issuer's answer to one request; "unreachable" for none. */
export type FeedAnswer = { readonly statement: string } | { readonly status: number } | "unreachable"

/** Reads to the end of the log without long polling. */
interface ReadStep {
  readonly now: number
  readonly exchanges: readonly { readonly asked: string; readonly answer: FeedAnswer }[]
  /** Why the read failed; null if it succeeded. */
  readonly problem: FeedProblem | null
  /** The last position read, the number of entries, and the time until which everything is known (0: never). */
  readonly seq: number
  readonly size: number
  readonly asOf: number
}

/** A call with a token. It may send no request to the issuer except for introspection. */
export interface CallStep {
  readonly now: number
  readonly token: string
  /** Default: kinds(USER or SERVICE), including delegated calls, with the guard's freshness. */
  readonly requirement?: Requirement
  /** The issuer's introspection response; "down" for none. Absent: the guard must not introspect. */
  readonly introspection?: "active" | "inactive" | "down" | "another token"
  readonly expected: Reason | "allow"
}

export interface FeedSequence {
  readonly name: string
  /** Capacity in entries; default 1,000. */
  readonly capacity?: number
  readonly steps: readonly (ReadStep | CallStep)[]
}

export type Json = Readonly<Record<string, unknown>>

export const other = (kind: "ses" | "prn" | "app" | "ten" | "ctx") => newId(kind, 9, new Uint8Array(10))
export const context = newId("ctx", 1, new Uint8Array(10))
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
export const tokens: Readonly<Record<string, string>> = {
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

/** Default claims of a statement that covers everything up to the last entry. */
export function statementClaims(at: number, entries: readonly Json[], change: Json = {}): Json {
  const head = Math.max(0, ...entries.map(({ seq }) => Number(seq)))
  return { iss: issuer, iat: at, log: "log-a", seq_from: 0, seq_to: head, head, entries, ...change }
}
export const statement = (at: number, entries: readonly Json[], change: Json = {}): FeedAnswer => ({
  statement: jwt(statementKey, "rev+jwt", statementClaims(at, entries, change)),
})
export const entry = (seq: number, kind: string, key: string, change: Json = {}): Json => ({
  seq,
  kind,
  key,
  exp: now + 930,
  ...change,
})
export const first = "/auth/revocations/snapshot?after=0"
export const after = (seq: number) => `/auth/revocations?after=${seq}&wait=0`

/** A step that reads one answer. */
export function read(
  at: number,
  asked: string,
  answer: FeedAnswer,
  known: Omit<ReadStep, "now" | "exchanges">,
): ReadStep {
  return { now: at, exchanges: [{ asked, answer }], ...known }
}
export const readAll = (at: number, entries: readonly Json[], seq: number, size = entries.length): ReadStep =>
  read(at, first, statement(at, entries), { problem: null, seq, size, asOf: at })
export const call = (
  at: number,
  token: string,
  expected: CallStep["expected"],
  more: Partial<CallStep> = {},
): CallStep => ({
  now: at,
  token,
  ...more,
  expected,
})
export const fresh = (
  maxStalenessMs: number,
  onStale: "DENY" | "INTROSPECT" | "ALLOW",
): Pick<CallStep, "requirement"> => ({
  requirement: { is: "kinds", of: ["USER", "SERVICE"], freshness: { maxStalenessMs, onStale } },
})

export const revoked = entry(1, "SESSION", ids.session)
export const two = [revoked, entry(2, "TOKEN", "jti_app")]
export const nothing = { seq: 0, size: 0, asOf: 0 }
