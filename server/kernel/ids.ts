// Ids: a prefix for the kind, and 16 bytes (UUIDv7) as 26 characters of Crockford's base32 in lower case.

declare const brand: unique symbol
type Brand<Name extends string> = string & { readonly [brand]: Name }

export type IdentityId = Brand<"IdentityId">
export type ProviderAccountId = Brand<"ProviderAccountId">
export type PrincipalId = Brand<"PrincipalId">
export type MembershipId = Brand<"MembershipId">
export type AppId = Brand<"AppId">
export type ProviderClientId = Brand<"ProviderClientId">
export type TenantId = Brand<"TenantId">
export type ContextId = Brand<"ContextId">
export type SessionId = Brand<"SessionId">
export type RefreshTokenId = Brand<"RefreshTokenId">
export type TokenId = Brand<"TokenId">
export type AuditEventId = Brand<"AuditEventId">
export type PatId = Brand<"PatId">
export type ServiceAccountId = Brand<"ServiceAccountId">
export type ServiceSecretId = Brand<"ServiceSecretId">
export type DelegationPolicyId = Brand<"DelegationPolicyId">
export type DelegationId = Brand<"DelegationId">
export type DeviceId = Brand<"DeviceId">
export type ConversationId = Brand<"ConversationId">
export type WelcomeId = Brand<"WelcomeId">
export type AttachmentId = Brand<"AttachmentId">
export type ClaimId = Brand<"ClaimId">
export type DirectiveId = Brand<"DirectiveId">
export type DecisionId = Brand<"DecisionId">
export type PermissionId = Brand<"PermissionId">
export type RoleId = Brand<"RoleId">
export type GrantId = Brand<"GrantId">
export type InvitationId = Brand<"InvitationId">
export type MagicLinkRequestId = Brand<"MagicLinkRequestId">

/** The prefix of each kind of id. */
export interface IdKinds {
  idn: IdentityId
  pac: ProviderAccountId
  prn: PrincipalId
  mem: MembershipId
  app: AppId
  pcl: ProviderClientId
  ten: TenantId
  ctx: ContextId
  ses: SessionId
  rtk: RefreshTokenId
  jti: TokenId
  aud: AuditEventId
  pat: PatId
  sac: ServiceAccountId
  scr: ServiceSecretId
  dpo: DelegationPolicyId
  dlg: DelegationId
  dev: DeviceId
  cnv: ConversationId
  wel: WelcomeId
  att: AttachmentId
  clm: ClaimId
  dir: DirectiveId
  dcn: DecisionId
  prm: PermissionId
  rol: RoleId
  grt: GrantId
  inv: InvitationId
  mlr: MagicLinkRequestId
}

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
const idPattern = /^([a-z]{3})_([0-9a-hjkmnp-tv-z]{26})$/

/** Encodes 16 bytes as 26 characters: 130 bits, of which the first two are zero. */
function toBase32(bytes: Uint8Array): string {
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  let text = ""
  for (let i = 0; i < 26; i++) {
    text = alphabet.charAt(Number(value & 31n)) + text
    value >>= 5n
  }
  return text
}

/**
 * Creates an id that sorts by creation time (RFC 9562 section 5.7, UUIDv7).
 *
 * @param nowMs Milliseconds since the Unix epoch.
 * @param random At least 10 random bytes.
 */
export function newId<K extends keyof IdKinds>(kind: K, nowMs: number, random: Uint8Array): IdKinds[K] {
  if (random.length < 10) throw new RangeError("an id needs 10 random bytes")
  const bytes = new Uint8Array(16)
  bytes.set(random.subarray(0, 10), 6)
  for (let i = 5, rest = nowMs; i >= 0; i--, rest = Math.floor(rest / 256)) bytes[i] = rest % 256
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return `${kind}_${toBase32(bytes)}` as IdKinds[K]
}

/** The inverse of idBytes: builds an id from 16 bytes of a signed message, or from random ones. */
export function idOf<K extends keyof IdKinds>(kind: K, bytes: Uint8Array): IdKinds[K] {
  if (bytes.length !== 16) throw new RangeError("an id is 16 bytes")
  return `${kind}_${toBase32(bytes)}` as IdKinds[K]
}

/**
 * Returns the 16 bytes of an id, as signed messages carry them. The field implies the kind.
 *
 * @throws RangeError for a text of more than 128 bits: two texts would have the same bytes.
 */
export function idBytes(id: IdKinds[keyof IdKinds]): Uint8Array {
  if (id.charAt(4) > "7") throw new RangeError("an id is 16 bytes")
  let value = 0n
  for (const character of id.slice(4)) value = (value << 5n) | BigInt(alphabet.indexOf(character))
  const bytes = new Uint8Array(16)
  for (let i = 15; i >= 0; i--) {
    bytes[i] = Number(value & 255n)
    value >>= 8n
  }
  return bytes
}

/** Returns the id if the text is an id of this kind; otherwise undefined. */
export function parseId<K extends keyof IdKinds>(kind: K, text: string): IdKinds[K] | undefined {
  const match = idPattern.exec(text)
  return match?.[1] === kind ? (text as IdKinds[K]) : undefined
}
