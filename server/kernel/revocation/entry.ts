// Entries of the revocation feed and their encoding in statements.
import { isCount, isJson, type Json } from "../json.ts"

export const revocationKinds = [
  "TOKEN",
  "SESSION",
  "CREDENTIAL",
  "PRINCIPAL",
  "TENANT",
  "CONTEXT",
  "APP",
  "AUTHORITY",
  "POLICY",
  "KEY",
  "ISSUER_EPOCH",
] as const
export type RevocationKind = (typeof revocationKinds)[number]

/** One revocation that verifiers must apply. A later entry with the same kind, key and app replaces an earlier one. */
export interface RevocationEntry {
  readonly kind: RevocationKind
  /**
   * TOKEN: jti. SESSION: sid or osid. CREDENTIAL: cred_id. PRINCIPAL and AUTHORITY: sub; PRINCIPAL also matches the
   * actor. TENANT, CONTEXT, APP and POLICY: the id in the token. KEY: kid. ISSUER_EPOCH: "all".
   */
  readonly key: string
  /** When everything that it revokes has expired. Milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
  /** Only tokens issued before this time are revoked. Absent: every token. */
  readonly issuedBeforeMs?: number
  /** AUTHORITY: the app whose tokens are affected. */
  readonly appId?: string
  /** AUTHORITY and POLICY: tokens with a lower version are rejected. */
  readonly minVersion?: number
}

/** An entry with its position in the log. */
export interface LoggedRevocation extends RevocationEntry {
  readonly seq: number
}

/** Encodes an entry for a statement. Times are seconds since the Unix epoch. */
export function entryClaims(entry: LoggedRevocation): Json {
  const { seq, kind, key, expiresAtMs, issuedBeforeMs, appId, minVersion } = entry
  return {
    seq,
    kind,
    key,
    // Rounded up: never earlier than the exact time.
    exp: Math.ceil(expiresAtMs / 1_000),
    ...(issuedBeforeMs === undefined ? {} : { issued_before: Math.ceil(issuedBeforeMs / 1_000) }),
    ...(appId === undefined ? {} : { app_id: appId }),
    ...(minVersion === undefined ? {} : { min_version: minVersion }),
  }
}

/** Undefined for a malformed entry or an unknown kind: a reader cannot apply what it does not understand. */
export function parseEntry(value: unknown): LoggedRevocation | undefined {
  if (!isJson(value)) return undefined
  const { seq, kind, key, exp, issued_before, app_id, min_version } = value
  if (!isCount(seq) || !isKind(kind) || !isText(key) || !isCount(exp)) return undefined
  if (issued_before !== undefined && !isCount(issued_before)) return undefined
  if ((kind === "AUTHORITY") !== (app_id !== undefined) || (app_id !== undefined && !isText(app_id))) return undefined
  const hasVersion = kind === "AUTHORITY" || kind === "POLICY"
  if (hasVersion !== (min_version !== undefined) || (min_version !== undefined && !isCount(min_version))) {
    return undefined
  }
  // Without it, no token would be accepted ever again.
  if (kind === "ISSUER_EPOCH" && issued_before === undefined) return undefined
  return {
    seq,
    kind,
    key,
    expiresAtMs: exp * 1_000,
    ...(issued_before === undefined ? {} : { issuedBeforeMs: issued_before * 1_000 }),
    ...(app_id === undefined ? {} : { appId: app_id }),
    ...(min_version === undefined ? {} : { minVersion: min_version }),
  }
}

function isKind(value: unknown): value is RevocationKind {
  return revocationKinds.some((kind) => kind === value)
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 256
}
