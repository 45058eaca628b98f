// Vectors: tokens with malformed claims, and the accepted shapes.
import { newId } from "@signet/kernel/ids"
import { ids } from "../testing/issuer.ts"
import { now } from "./situations.ts"
import { claimed, ok, type Row } from "./token-parts.ts"

const actor = { sub: ids.service, principal_type: "service", client_id: "svc-mail" }
const onBehalf = { gty: "on_behalf_of", sid: undefined, osid: ids.session, job_id: "job-1", act: actor }
const service = {
  sub: ids.service,
  principal_type: "service",
  gty: "client_credentials",
  client_id: "svc-mail",
  sid: undefined,
  identity_id: undefined,
  auth_time: undefined,
  amr: [],
}
const pat = { gty: "pat", sid: undefined, cred_id: "pac_1", auth_time: undefined }
const chain = (depth: number): object => (depth === 1 ? actor : { ...actor, act: chain(depth - 1) })
const context = newId("ctx", 1, new Uint8Array(10))
const device = newId("dev", 1, new Uint8Array(10))

const malformed: readonly (readonly [name: string, change: object])[] = [
  ["no app_id", { app_id: undefined }],
  ["app_id of null", { app_id: null }],
  ["a tenant for an app", { app_id: ids.tenant }],
  ["an app_id in capitals", { app_id: ids.app.toUpperCase() }],
  ["an app_id with a line end", { app_id: `${ids.app}\n` }],
  ["no principal_type", { principal_type: undefined }],
  ["another principal_type", { principal_type: "agent" }],
  ["no sub", { sub: undefined }],
  ["a sub that is an identity", { sub: ids.identity }],
  ["an app for a tenant", { tenant_id: ids.app }],
  ["tenant_id of null", { tenant_id: null }],
  ["an empty tenant_id", { tenant_id: "" }],
  ["context_id of a number", { context_id: 1 }],
  ["an identity that is none", { identity_id: "idn_1" }],
  ["a session that is none", { sid: "ses_1" }],
  ["a device that is none", { did: "phone" }],
  ["did of null", { did: null }],
  ["a user without an identity", { identity_id: undefined }],
  ["a service with an identity", { ...service, identity_id: ids.identity }],
  ["a service with a session", { ...service, sid: ids.session }],
  ["a user with a service's grant", { gty: "client_credentials", sid: undefined }],
  ["a service with a user's grant", { ...service, gty: "pat" }],
  ["a session's grant without its session", { sid: undefined }],
  ["a session beside another grant", { gty: "pat" }],
  ["no gty", { gty: undefined }],
  ["another gty", { gty: "password" }],
  ["another gty without a session", { gty: "password", sid: undefined }],
  ["a device beside another grant", { ...pat, did: device }],
  ["no jti", { jti: undefined }],
  ["an empty jti", { jti: "" }],
  ["no client_id", { client_id: undefined }],
  ["client_id of a number", { client_id: 1 }],
  ["an empty cred_id", { cred_id: "" }],
  ["cred_id of null", { cred_id: null }],
  ["scopes as text", { scp: "notes.read" }],
  ["no scopes", { scp: undefined }],
  ["an empty scope", { scp: [""] }],
  ["a scope that is a number", { scp: ["notes.read", 1] }],
  ["no amr", { amr: undefined }],
  ["no perm_ver", { perm_ver: undefined }],
  ["neither perm_ver nor pol_ver", { perm_ver: undefined, pol_ver: undefined }],
  ["a negative perm_ver", { perm_ver: -1 }],
  ["a negative perm_ver, and no pol_ver", { perm_ver: -1, pol_ver: undefined }],
  ["perm_ver beyond what a double counts", { perm_ver: 2 ** 53 }],
  ["perm_ver of true", { perm_ver: true }],
  ["pol_ver above perm_ver", { perm_ver: 1, pol_ver: 2 }],
  ["pol_ver of null", { pol_ver: null }],
  ["auth_time as text", { auth_time: String(now) }],
  ["auth_time of null", { auth_time: null }],
  ["a session with an actor", { act: actor, job_id: "job-1" }],
  ["a session with an actor and no job", { act: actor }],
  ["a session with a job", { job_id: "job-1" }],
  ["a session with another's session", { osid: ids.session }],
  ["a delegation without an actor", { ...onBehalf, act: undefined }],
  ["a delegation without a job", { ...onBehalf, job_id: undefined }],
  ["a delegation of a session that is none", { ...onBehalf, osid: "ses_1" }],
  ["a delegation with an empty job", { ...onBehalf, job_id: "" }],
  ["an actor of null", { ...onBehalf, act: null }],
  ["an actor in a list", { ...onBehalf, act: [actor] }],
  ["an actor that is a user", { ...onBehalf, act: { ...actor, principal_type: "user" } }],
  ["an actor without a client", { ...onBehalf, act: { ...actor, client_id: undefined } }],
  ["an actor that is no principal", { ...onBehalf, act: { ...actor, sub: "svc-mail" } }],
  ["an actor whose actor is malformed", { ...onBehalf, act: { ...actor, act: {} } }],
]

export const shapesOfClaims: readonly Row[] = [
  ...malformed.map(([name, change]): Row => [name, claimed(change), "MALFORMED_CREDENTIAL"]),
  ["four actors", claimed({ ...onBehalf, act: chain(4) }), "DELEGATION_CHAIN_TOO_DEEP"],
  ["four actors for a session: the chain is told", claimed({ act: chain(4) }), "DELEGATION_CHAIN_TOO_DEEP"],
  [
    "four actors and no principal_type",
    claimed({ ...onBehalf, act: chain(4), principal_type: "x" }),
    "MALFORMED_CREDENTIAL",
  ],
]

export const taken: readonly Row[] = [
  ["a user's", claimed({}), ok],
  ["a user's of no tenant", claimed({ tenant_id: undefined }), ok],
  ["a user's of a context", claimed({ context_id: context }), ok],
  ["a user's with a device", claimed({ did: device }), ok],
  ["a user's without a time of sign-in", claimed({ auth_time: undefined }), ok],
  ["a user's with a credential", claimed({ cred_id: "pac_1" }), ok],
  ["a user's with no scope", claimed({ scp: [] }), ok],
  ["a user's whose versions are not told apart", claimed({ perm_ver: 9, pol_ver: undefined }), ok],
  ["a user's of versions 4 and 5", claimed({ perm_ver: 9, pol_ver: 5 }), ok],
  ["a user's with claims that nobody knows", claimed({ roles: ["admin"], news: { deep: [1, null, "x"] } }), ok],
  ["a service's", claimed(service), ok],
  ["a personal access token's", claimed(pat), ok],
  ["a delegated one", claimed(onBehalf), ok],
  ["a delegated one of a standing delegation", claimed({ ...onBehalf, osid: undefined, cred_id: "dlg_1" }), ok],
  ["a delegated one with three actors", claimed({ ...onBehalf, act: { ...chain(3), client_id: "svc-last" } }), ok],
]
