// An event as it is kept: what names a person sealed under that person's key, and one text of it all that is stamped and
// chained. Deleting the key erases, and the text stays what it was.
import type { AuditEvent } from "./event.ts"
import type { AuditSeals } from "./seals.ts"

type Request = AuditEvent["request"]

/** An event without what names a person, which is in `personalSealed`. */
export interface AuditRow extends Omit<AuditEvent, "request"> {
  readonly request: Pick<Request, "id" | "route">
  /** Whose data key sealed it; null where there was nothing to seal. */
  readonly keyOwner: string | null
  readonly personalSealed: Uint8Array | null
  /** HMAC of the stamped text; null for rows of before there were stamps. */
  readonly stamp: Uint8Array | null
}

/** What names a person. */
interface Personal {
  readonly ipTruncated: string | null
}

/** The chain of what belongs to no app. */
export const ownShard = "-"

/** The chain that an event is linked into: its tenant's, else its app's, else the installation's. */
export const shardOf = ({ appId, tenantId }: Readonly<Pick<AuditEvent, "appId" | "tenantId">>): string =>
  tenantId ?? appId ?? ownShard

/**
 * Whose key seals an event's personal fields: whose call it was, else whose affairs it touched. What is of nobody known
 * is under a key of its day, and goes with that.
 */
export function keyOwnerOf(event: AuditEvent): string {
  const { actorPrincipalId, subjectPrincipalId, subjectIdentityId, occurredAtMs } = event
  return actorPrincipalId ?? subjectPrincipalId ?? subjectIdentityId ?? dayOwner(occurredAtMs)
}

export const dayOwnerPrefix = "day:"
const dayOwner = (ms: number): string => `${dayOwnerPrefix}${new Date(ms).toISOString().slice(0, 10)}`

/** Null when there is nothing to seal. */
export function personalOf({ request }: AuditEvent): Personal | null {
  return request.ipTruncated === null ? null : { ipTruncated: request.ipTruncated }
}

/** What a sealed field is bound to: it opens in its own row alone. */
const personalLabel = (eventId: string): string => `audit-personal|${eventId}`

/** @returns What was sealed; undefined for what is none. */
function parsePersonal(text: string): Personal | undefined {
  try {
    const json: unknown = JSON.parse(text)
    if (typeof json !== "object" || json === null || !("ip" in json)) return undefined
    return { ipTruncated: typeof json.ip === "string" ? json.ip : null }
  } catch {
    return undefined
  }
}

/**
 * The row of an event, sealed and stamped.
 *
 * @param key The owner's data key; null when it was erased, and what names a person is not kept then.
 */
export function sealRow(
  event: AuditEvent,
  owned: { readonly owner: string; readonly key: Uint8Array | null } | null,
  seals: AuditSeals,
): AuditRow & { readonly stamp: Uint8Array } {
  const personal = personalOf(event)
  const key = owned?.key ?? null
  const sealed =
    personal === null || key === null
      ? null
      : seals.seal(key, personalLabel(event.id), JSON.stringify({ ip: personal.ipTruncated }))
  const { id, route } = event.request
  const row = { ...event, request: { id, route }, keyOwner: owned?.owner ?? null, personalSealed: sealed }
  return { ...row, stamp: seals.stamp(stampedText(row)) }
}

/** The event of a row. What was sealed under a key that is no more is erased, and said to be. */
export function openRow(row: AuditRow, key: Uint8Array | undefined, seals: Pick<AuditSeals, "open">): AuditEvent {
  const { keyOwner, personalSealed, stamp, request, ...event } = row
  if (keyOwner === null) return { ...event, request: { ...request, ipTruncated: null } }
  if (key === undefined || personalSealed === null) {
    return { ...event, request: { ...request, ipTruncated: null, isErased: true } }
  }
  const opened = seals.open(key, personalLabel(row.id), personalSealed)
  const ipTruncated = (opened === undefined ? undefined : parsePersonal(opened))?.ipTruncated ?? null
  return { ...event, request: { ...request, ipTruncated } }
}

/** What a stamp is of: a JSON array (RFC 8785) with every field but the stamp. */
export const stampedText = (row: Omit<AuditRow, "stamp">): string =>
  JSON.stringify(["signet audit event v1", ...fieldsOf(row)])

/** What a link hashes: the same with the stamp, all in one line that says the whole row. */
export const rowText = (row: AuditRow): string =>
  JSON.stringify(["signet audit row v1", ...fieldsOf(row), row.stamp && hex(row.stamp)])

function fieldsOf(row: Omit<AuditRow, "stamp">): readonly (string | number | null)[] {
  return [
    row.id,
    row.occurredAtMs,
    row.kind,
    row.outcome,
    row.reason,
    row.appId,
    row.tenantId,
    row.contextId,
    row.actorPrincipalId,
    row.subjectPrincipalId,
    row.subjectIdentityId,
    row.sessionId,
    row.target?.type ?? null,
    row.target?.id ?? null,
    row.request.id,
    row.request.route,
    row.keyOwner,
    row.personalSealed && hex(row.personalSealed),
  ]
}

const pairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** Bytes as lower-case hexadecimal. */
export function hex(bytes: Uint8Array): string {
  let text = ""
  for (const byte of bytes) text += pairs[byte]
  return text
}
