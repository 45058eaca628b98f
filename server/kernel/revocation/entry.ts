// What the revocation feed says, entry by entry, and how it is written in a statement.

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

/** One thing that verifiers must refuse. A later entry of the same kind, key and app takes the place of an earlier one. */
export interface RevocationEntry {
  readonly kind: RevocationKind
  /**
   * TOKEN: jti. SESSION: sid or osid. CREDENTIAL: cred_id. PRINCIPAL and AUTHORITY: sub, PRINCIPAL also of who acts. TENANT,
   * CONTEXT, APP and POLICY: the id in the token. KEY: kid. ISSUER_EPOCH: "all".
   */
  readonly key: string
  /** From then on nothing that it concerns would be taken anyway. Milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
  /** Only tokens that were issued before this are refused. Where it is not said, every token is. */
  readonly issuedBeforeMs?: number
  /** AUTHORITY: the app whose tokens it concerns. */
  readonly appId?: string
  /** AUTHORITY and POLICY: tokens of a lower version are refused. */
  readonly minVersion?: number
}

/** An entry with its place in the log. */
export interface LoggedRevocation extends RevocationEntry {
  readonly seq: number
}

type Json = Readonly<Record<string, unknown>>

/** An entry as a statement carries it. Times are seconds since the Unix epoch. */
export function entryClaims(entry: LoggedRevocation): Json {
  const { seq, kind, key, expiresAtMs, issuedBeforeMs, appId, minVersion } = entry
  return {
    seq,
    kind,
    key,
    // Never earlier than it is.
    exp: Math.ceil(expiresAtMs / 1_000),
    ...(issuedBeforeMs === undefined ? {} : { issued_before: Math.ceil(issuedBeforeMs / 1_000) }),
    ...(appId === undefined ? {} : { app_id: appId }),
    ...(minVersion === undefined ? {} : { min_version: minVersion }),
  }
}

/** Undefined for what is no entry, and for a kind that is not known: what cannot be understood cannot be obeyed. */
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
  // Without it nothing would ever be taken again.
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

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 256
}

export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
}
