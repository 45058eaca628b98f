// Values of examples. They are equal in every generation, and none is a credential.
import { createHash } from "node:crypto"

/** Values by the field's JSON name, for fields whose type is too general. */
const byName: Readonly<Record<string, string>> = {
  access_token: "EXAMPLE-ACCESS-TOKEN",
  accessToken: "EXAMPLE-ACCESS-TOKEN",
  actor_token_type: "urn:ietf:params:oauth:token-type:access_token",
  alg: "ES256",
  appVersion: "3.2.0",
  aud: "https://notes.example.com",
  audience: "https://notes.example.com",
  chain: "-",
  clientId: "EXAMPLE-CLIENT-ID",
  clientKeyId: "EXAMPLE-KEY-ID",
  client_id: "EXAMPLE-CLIENT-ID",
  client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  connection: "workforce",
  crv: "P-256",
  description: "Reads notes",
  deviceId: "installation-7",
  displayName: "Example Workforce",
  email: "ada@example.com",
  error: "invalid_request",
  field: "name",
  grant_type: "client_credentials",
  gty: "client_credentials",
  eventText: '["aud_01kexamp","session.created"]',
  hint: "x7Qk",
  id: "note-42",
  iss: "https://auth.example.com",
  issuer: "https://auth.example.com",
  canonicalIssuer: "https://login.example.com",
  issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
  jobId: "export-2026-01",
  job_id: "export-2026-01",
  kind: "session.created",
  kty: "EC",
  label: "Ada's laptop",
  last4: "x7Qk",
  name: "Example",
  os: "Linux 6.8",
  pageToken: "EXAMPLE-PAGE-TOKEN",
  nextPageToken: "EXAMPLE-PAGE-TOKEN",
  password: "EXAMPLE-PASSWORD",
  platform: "web",
  primaryEmail: "ada@example.com",
  presetTenant: "example",
  principal_type: "service",
  providerTenant: "example",
  projectUrl: "https://project.example.com",
  route: "signet.auth.v1.AuthService/Me",
  scope: "notes.read",
  subject: "248289761001",
  subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
  targetId: "248289761001",
  targetType: "session",
  token_type: "Bearer",
  tokenType: "Bearer",
  token_type_hint: "access_token",
  token_use: "access",
  type: "workspace",
  use: "sig",
  reason: "requested by the owner",
  ipTruncated: "203.0.113.0/24",
}

/** Values of lists' items, by the list's JSON name. */
const itemsByName: Readonly<Record<string, string>> = {
  allowedAudiences: "https://notes.example.com",
  amr: "pwd",
  authorizedParties: "EXAMPLE-CLIENT-ID",
  defaultScopes: "notes.read",
  grant_types_supported: "client_credentials",
  hostedDomains: "example.com",
  mailboxes: "orders",
  ownedAudiences: "https://notes.example.com",
  permissions: "notes.note.read",
  response_types_supported: "none",
  scp: "notes.read",
  introspection_endpoint_auth_methods_supported: "private_key_jwt",
  introspection_endpoint_auth_signing_alg_values_supported: "ES256",
  revocation_endpoint_auth_methods_supported: "private_key_jwt",
  revocation_endpoint_auth_signing_alg_values_supported: "ES256",
  token_endpoint_auth_methods_supported: "private_key_jwt",
  token_endpoint_auth_signing_alg_values_supported: "ES256",
  allowedRedirectUris: "https://app.example.com/callback",
  allowedOrigins: "https://app.example.com",
  audiences: "https://notes.example.com",
  issuers: "https://login.example.com",
  redirectUris: "https://app.example.com/callback",
  scopes: "notes.read",
}

/** Texts that match a pattern, for fields whose name is too general. */
const byPattern: Readonly<Record<string, string>> = {
  "^([a-z0-9][a-z0-9-]{0,31})?$": "workforce",
  "^[a-z0-9-]{0,32}$": "google",
  "^[a-z][a-z0-9_.-]{0,63}$": "notes-editor",
  "^[a-z][a-z0-9_.]{0,63}$": "project",
  "^[a-z][a-z0-9_]{0,63}$": "project",
  "^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*){1,5}$": "notes.read",
  "^[a-z][a-z0-9_]*\\.[a-z][a-z0-9_]*\\.[a-z][a-z0-9_]*$": "notes.note.read",
  "^[a-z_]+\\.[a-z_]+$": "session.created",
  "^https?://[a-z0-9.-]+(:[0-9]{1,5})?$": "https://app.example.com",
  "^[A-Za-z0-9._:-]{0,128}$": "export-2026-01",
  "^[!#-\\[\\]-~]{1,128}$": "notes.read",
  "^[0-9a-f]{64}$": digest("tree").toString("hex"),
}

function digest(of: string): Buffer {
  return createHash("sha256").update(of).digest()
}

const base32 = "0123456789abcdefghjkmnpqrstvwxyz"

/** An id with a typed prefix; a prefix always has the same id. */
function exampleId(prefix: string): string {
  const letters = Array.from(digest(prefix).subarray(0, 19), (byte) => base32[byte % 32]).join("")
  return `${prefix}_01kexamp${letters.slice(0, 18)}`
}

/** Bytes in base64. */
export function exampleBytes(name: string, length: number): string {
  const seed = digest(name)
  return Buffer.from(Array.from({ length }, (_, index) => seed[index % 32] ?? 0)).toString("base64")
}

/** Prefixes by the last word of a field's name, for ids without a pattern. */
const prefixes: Readonly<Record<string, string>> = {
  actorPrincipalId: "prn",
  adderDeviceId: "dev",
  appId: "app",
  app_id: "app",
  contextId: "ctx",
  deviceIds: "dev",
  deviceIdsWithout: "dev",
  removedDeviceIds: "dev",
  userIds: "prn",
  context_id: "ctx",
  cred_id: "scr",
  delegation_id: "dlg",
  eventId: "aud",
  grantedBy: "prn",
  identityId: "idn",
  identity_id: "idn",
  invitedBy: "prn",
  jti: "tok",
  leasedTo: "dev",
  membershipId: "mem",
  osid: "ses",
  policyId: "dpo",
  principalId: "prn",
  requestId: "req",
  roleId: "rol",
  senderDeviceId: "dev",
  sessionId: "ses",
  sid: "ses",
  sub: "prn",
  subjectIdentityId: "idn",
  subjectPrincipalId: "prn",
  tenantId: "ten",
  tenant_id: "ten",
}

/** A text for a comment that starts with a prefix in backquotes, of an id or a credential. */
function byComment(comment: string): string | undefined {
  const [, prefix] = /`([a-z]{3,5})_…`/.exec(comment) ?? []
  if (prefix === undefined) return undefined
  return prefix.startsWith("sg") ? `${prefix}_EXAMPLE` : exampleId(prefix)
}

/** Enum values to use in place of the first declared one. */
export const enumValues: Readonly<Record<string, string>> = { "signet.auth.v1.Platform": "WEB" }

/**
 * The fields in a request's example, where all fields together make no sense: by method, or by its message, with JSON
 * names.
 */
export const requestFields: Readonly<Record<string, readonly string[]>> = {
  "AccountService.LinkProviderAccount": ["provider", "platform", "idToken", "nonce"],
  "AuthService.ConfirmMagicLink": ["appId", "platform", "tokenHash", "codeVerifier", "audiences"],
  "AuthService.EmailPasswordLogin": ["appId", "platform", "email", "password", "audiences"],
  "AuthService.ExternalLogin": ["provider", "appId", "platform", "idToken", "nonce", "audiences"],
  "AuthService.Logout": ["refreshToken"],
  "AuthService.Refresh": ["refreshToken", "retryKey"],
  "signet.auth.v1.AuthorizationCode": ["code", "redirectUri", "codeVerifier"],
  "signet.auth.v1.ProviderClient": [
    "provider",
    "platform",
    "clientId",
    "clientSecret",
    "redirectUris",
    "signupEnabled",
    "connection",
    "displayName",
    "preset",
  ],
  "TokenService.Introspect": ["client_id", "client_secret", "token"],
  "TokenService.Revoke": ["client_id", "client_secret", "token"],
  "TokenService.Token": ["grant_type", "client_id", "client_secret", "audience", "scope"],
}

interface Text {
  readonly name: string
  readonly comment: string
  readonly isItem: boolean
  readonly pattern?: string | undefined
  readonly length?: number | undefined
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** A text for a field. @throws Error if no known text fits. */
export function exampleText(text: Text): string {
  const { name, pattern } = text
  const [, prefix] = /\^\(?([a-z]{3})_\[/.exec(pattern ?? "") ?? []
  const named = text.isItem ? (itemsByName[name] ?? byName[name]) : byName[name]
  const known = [
    prefix === undefined ? undefined : exampleId(prefix),
    byComment(text.comment),
    named,
    pattern === undefined ? undefined : byPattern[pattern],
    Object.hasOwn(prefixes, name) ? exampleId(prefixes[name] ?? "") : undefined,
    /_?uris?$|Uris?$|Url$|[eE]ndpoint$/.test(name) ? `https://auth.example.com/${name.toLowerCase()}` : undefined,
  ]
  const random = digest(name).toString("base64url")
  const fits = (value: string) =>
    (pattern === undefined || new RegExp(pattern).test(value)) &&
    value.length >= (text.length ?? text.min ?? 0) &&
    value.length <= (text.length ?? text.max ?? Number.POSITIVE_INFINITY)
  const made = [random.slice(0, 22), random.slice(0, 43), `${random.slice(0, 42)}A`, `EXAMPLE-${name.toUpperCase()}`]
  // A text with a pattern must match; a text without one should be descriptive.
  const others = pattern === undefined ? made.toReversed() : made
  const found = [...known, ...others, "EXAMPLE".padEnd(text.length ?? text.min ?? 7, "x")].find(
    (value) => value !== undefined && fits(value),
  )
  if (found === undefined) throw new Error(`no example for ${name} (${pattern}): add one to example-values.ts`)
  return found
}
