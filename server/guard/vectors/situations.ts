// The columns of decisions.md: the caller, its credential, and the known facts. Everything is active unless changed.
import { type ContextId, newId, type TenantId } from "@signet/kernel/ids"
import { ids } from "../testing/issuer.ts"

/** The time in every vector, in seconds since the Unix epoch. */
export const now = 1_700_000_000

export interface Situation {
  /** The Authorization header as sent; null for none. Absent: a token is signed. */
  readonly authorization?: string | null
  /** Changed claims of the user's token; null removes one. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** Changed header parameters. */
  readonly header?: Readonly<Record<string, unknown>>
  /** The signer; default "issuer". */
  readonly signer?: "issuer" | "stranger"
  /** The values of the request, by field. */
  readonly request?: Readonly<Record<string, string>>
  /** The app that the target belongs to. */
  readonly targetApp?: string
  /** Changed liveness facts of a database; "unknown" if the target has none; "down" if it does not answer. */
  readonly liveness?: LivenessChange | "unknown" | "down"
  /** Age of these facts in seconds; default 0. */
  readonly livenessAgeSeconds?: number
  /**
   * The principal's grants; default none. "stale": of another version than the token's. "down": unknown because nothing
   * answers.
   */
  readonly grants?: readonly SituationGrant[] | "stale" | "down"
  /** The issuer's introspection response; "down" for none. Absent: the target does not introspect. */
  readonly introspection?: LivenessChange | "down"
}

/** The node at which a role of `roles` was granted. Absent fields do not narrow it. */
interface SituationGrant {
  readonly role: keyof typeof roles
  readonly tenantId?: TenantId
  readonly contextId?: ContextId
  readonly resource?: { readonly type: string; readonly id: string }
  readonly expiresAtMs?: number
}

const permissions = ["notes.note.read", "notes.note.edit"]

export const roles = {
  editor: { permissions, inheritable: true },
  /** Applies at its own node only. */
  resident: { permissions, inheritable: false },
  reader: { permissions: ["notes.note.read"], inheritable: true },
} as const

/** The permissions that each scope allows. */
export const scopePermissions: Readonly<Record<string, readonly string[]>> = {
  "notes.read": ["notes.note.read"],
  "notes.write": permissions,
}

/** Changed members of LivenessFacts. */
export type LivenessChange = Readonly<Record<string, unknown>>

const service = {
  sub: ids.service,
  principal_type: "service",
  gty: "client_credentials",
  client_id: "svc-mail",
  sid: null,
  identity_id: null,
  auth_time: null,
  amr: [],
}
const actor = { sub: ids.service, principal_type: "service", client_id: "svc-mail" }
const onBehalf = {
  gty: "on_behalf_of",
  client_id: "svc-mail",
  sid: null,
  osid: ids.session,
  job_id: "job-1",
  act: actor,
}
const otherTenant = newId("ten", 2, new Uint8Array(10))
const note = (id: string) => ({ "note.id": id })
export const contextId = newId("ctx", 1, new Uint8Array(10))
const bothScopes = ["notes.read", "notes.write"]
const own: SituationGrant["resource"] = { type: "note", id: "own" }

/** A caller with both scopes who requests the note "own". */
const granted = (grants: Situation["grants"], claims: Situation["claims"] = {}, id = "own"): Situation => ({
  claims: { scp: bothScopes, ...claims },
  request: note(id),
  ...(grants === undefined ? {} : { grants }),
})
const editor: SituationGrant = { role: "editor" }
const inContext = { context_id: contextId }

export const situations: Readonly<Record<string, Situation>> = {
  user: {},
  service: { claims: service },
  pat: { claims: { gty: "pat", sid: null, cred_id: "pac_1", auth_time: null } },
  "no scopes": { claims: { scp: [] } },
  "two scopes": { claims: { scp: ["notes.read", "notes.write"] } },
  "no tenant": { claims: { tenant_id: null }, request: { tenant_id: ids.tenant } },
  "a device": { claims: { did: newId("dev", 1, new Uint8Array(10)) } },
  "signed in an hour ago": { claims: { auth_time: now - 3_600 } },
  "on behalf": { claims: onBehalf },
  "on behalf, two deep": { claims: { ...onBehalf, act: { ...actor, act: { ...actor, client_id: "svc-jobs" } } } },
  "by another service": {
    claims: { ...onBehalf, act: { ...actor, client_id: "svc-other", sub: newId("prn", 3, new Uint8Array(10)) } },
  },

  "own tenant": { request: { tenant_id: ids.tenant } },
  "other tenant": { request: { tenant_id: otherTenant } },
  "tenant unnamed": {},
  "tenant in capitals": { request: { tenant_id: ids.tenant.toUpperCase() } },
  "service, own tenant": { claims: service, request: { tenant_id: ids.tenant } },
  "service, other tenant": { claims: service, request: { tenant_id: otherTenant } },
  "own note": { request: note("own") },
  "a note of another tenant": { request: note("foreign") },
  "a note of another app": { request: note("elsewhere") },
  "no such note": { request: note("missing") },
  "a note that is a folder": { request: note("folder") },
  "the app's own": { targetApp: ids.app },
  "another app's": { targetApp: newId("app", 2, new Uint8Array(10)) },

  nothing: { authorization: null },
  gibberish: { authorization: "Bearer gibberish" },
  "two tokens": { authorization: "Bearer a.b.c, Bearer a.b.c" },
  "a personal access token": { authorization: `Bearer sgpat_${"0".repeat(50)}` },
  "a refresh token": { authorization: `Bearer sgrt_${"0".repeat(50)}` },
  "a token that is too long": { authorization: `Bearer ${"a".repeat(8_193)}` },
  "another signature": { signer: "stranger" },
  "another key": { header: { kid: "key-2" } },
  "alg none": { header: { alg: "none" } },
  "alg HS256": { header: { alg: "HS256" } },
  "typ JWT": { header: { typ: "JWT" } },
  "a crit header": { header: { crit: ["b64"] } },
  "a jwk header": { header: { jwk: {} } },
  "another issuer": { claims: { iss: "https://other.example" } },
  "another audience": { claims: { aud: "svc-mail" } },
  "two audiences": { claims: { aud: ["svc-notes", "svc-mail"] } },
  expired: { claims: { iat: now - 700, nbf: now - 700, exp: now - 30 } },
  "expired within the skew": { claims: { iat: now - 700, nbf: now - 700, exp: now - 29 } },
  "not yet": { claims: { nbf: now + 31 } },
  "a life of a day": { claims: { exp: now + 86_400 } },
  "no app": { claims: { app_id: null } },
  "four deep": {
    claims: { ...onBehalf, act: { ...actor, act: { ...actor, act: { ...actor, act: actor } } } },
  },

  active: { liveness: {} },
  "user suspended": { liveness: { principal: "SUSPENDED" } },
  "identity deleted": { liveness: { identity: "DELETED" } },
  "session revoked": { liveness: { session: { status: "REVOKED" } } },
  "session expired": { liveness: { session: { absoluteExpiresAtMs: now * 1_000 } } },
  "token revoked": { liveness: { revoked: ["TOKEN"] } },
  "membership suspended": { liveness: { membership: "SUSPENDED" } },
  "tenant suspended": { liveness: { tenant: "SUSPENDED" } },
  "database down": { liveness: "down" },
  "on behalf, actor suspended": { claims: onBehalf, liveness: { actor: "SUSPENDED" } },
  "on behalf, session revoked": { claims: onBehalf, liveness: { session: { status: "REVOKED" } } },

  "permissions taken away": { liveness: { minimum: { principal: 1, policy: 0 } } },
  "policy narrowed": { liveness: { minimum: { principal: 0, policy: 2 } } },
  "policy narrowed before": { liveness: { minimum: { principal: 0, policy: 1 } } },
  "policy narrowed, part untold": {
    claims: { perm_ver: 9, pol_ver: null },
    liveness: { minimum: { principal: 0, policy: 1 } },
  },

  "editor of the app": granted([editor]),
  "editor of the tenant": granted([{ ...editor, tenantId: ids.tenant }]),
  "editor of the note": granted([{ ...editor, tenantId: ids.tenant, resource: own }]),
  "editor of another note": granted([{ ...editor, tenantId: ids.tenant, resource: { type: "note", id: "other" } }]),
  "editor of such a note of no tenant": granted([{ ...editor, resource: own }]),
  "editor of another tenant": granted([{ ...editor, tenantId: otherTenant }]),
  "editor of a context": granted([{ ...editor, tenantId: ids.tenant, contextId }]),
  "resident of the app": granted([{ role: "resident" }]),
  "resident of the tenant": granted([{ role: "resident", tenantId: ids.tenant }]),
  "resident of the note": granted([{ role: "resident", tenantId: ids.tenant, resource: own }]),
  "reader of the app": granted([{ role: "reader" }]),
  "reader of the app, editor of the note": granted([
    { role: "reader" },
    { ...editor, tenantId: ids.tenant, resource: own },
  ]),
  "granted nothing": granted([]),

  "in a context, editor of it": granted([{ ...editor, tenantId: ids.tenant, contextId }], inContext, "in context"),
  "in a context, editor of the tenant": granted([{ ...editor, tenantId: ids.tenant }], inContext, "in context"),
  "in a context, resident of the tenant": granted(
    [{ role: "resident", tenantId: ids.tenant }],
    inContext,
    "in context",
  ),
  "in a context, a note of the tenant": granted([editor], inContext),
  "in the tenant, a note of a context": granted([editor], {}, "in context"),

  "editor for a second more": granted([{ ...editor, expiresAtMs: now * 1_000 + 1_000 }]),
  "editor until now": granted([{ ...editor, expiresAtMs: now * 1_000 }]),
  "editor without the scope": granted([editor], { scp: ["notes.read"] }),
  "editor, a note of another tenant": granted([editor], {}, "foreign"),
  "editor, a note of another app": granted([editor], {}, "elsewhere"),
  "editor, no such note": granted([editor], {}, "missing"),
  "service, editor of the app": granted([editor], service),
  "on behalf of an editor": granted([editor], onBehalf),
  "on behalf of an editor, without the scope": granted([editor], { ...onBehalf, scp: ["notes.read"] }),
  "editor in another version": granted("stale"),
  "nobody can tell": granted("down"),

  "fresh token": { liveness: "unknown" },
  "token of a minute": { claims: { iat: now - 61, nbf: now - 61 }, liveness: "unknown" },
  "old facts": { livenessAgeSeconds: 61, liveness: {} },
  "old facts, issuer says active": { livenessAgeSeconds: 61, liveness: {}, introspection: {} },
  "old facts, issuer says revoked": {
    livenessAgeSeconds: 61,
    liveness: {},
    introspection: { session: { status: "REVOKED" } },
  },
  "old facts, issuer down": { livenessAgeSeconds: 61, liveness: {}, introspection: "down" },
}
