// The stored form of an audit event. Personal fields are sealed under a data key of the person or, for an unknown one, of
// the day. The facts of a denial are among them and have no column: a server of an earlier version, which may link the
// event, then hashes the whole row. The stamp (an HMAC) and the chain cover the sealed text: deleting the key erases the
// personal fields, and both stay valid.

import type { AuditCrypto } from "./crypto.ts"
import type { Denial } from "./denial.ts"
import type { AuditEvent } from "./event.ts"

type Request = AuditEvent["request"]

/** An event whose personal fields are in `personalSealed`. */
export interface AuditRow extends Omit<AuditEvent, "request" | "denial"> {
  readonly request: Pick<Request, "id" | "route">
  /** The owner of the data key; null if there was nothing to seal. */
  readonly keyOwner: string | null
  readonly personalSealed: Uint8Array | null
  /** HMAC of `stampedText`; null for rows from before stamps were introduced. */
  readonly stamp: Uint8Array | null
}

/** Fields that identify a person. */
interface Personal {
  readonly ipTruncated: string | null
  readonly denial?: Denial
}

/** The chain of events that belong to no app. */
const installationChain = "-"

/** The chain of an event: its tenant's, else its app's, else the installation's. */
export const auditChainOf = ({ appId, tenantId }: Readonly<Pick<AuditEvent, "appId" | "tenantId">>): string =>
  tenantId ?? appId ?? installationChain

/**
 * The owner of the key that seals an event's personal fields: the actor, else the subject. An event without a known
 * principal uses a key of its day, which is deleted after the retention time.
 */
export function keyOwnerOf(event: AuditEvent): string {
  const { actorPrincipalId, subjectPrincipalId, subjectIdentityId, occurredAtMs } = event
  return actorPrincipalId ?? subjectPrincipalId ?? subjectIdentityId ?? dayOwner(occurredAtMs)
}

export const dayOwnerPrefix = "day:"
const dayOwner = (ms: number): string => `${dayOwnerPrefix}${new Date(ms).toISOString().slice(0, 10)}`

/** Returns the fields to seal; null if there are none. */
export function personalOf({ request: { ipTruncated }, denial }: AuditEvent): Personal | null {
  if (ipTruncated === null && denial === undefined) return null
  return { ipTruncated, ...(denial !== undefined && { denial }) }
}

/** Additional authenticated data: a sealed field opens only in its own row. */
const personalLabel = (eventId: string): string => `audit-personal|${eventId}`

const personalText = ({ ipTruncated, denial }: Personal): string => JSON.stringify({ ip: ipTruncated, denial })

/** Returns no field for malformed text. The text is authentic: only a holder of the data key can seal one. */
function parsePersonal(text: string): Personal {
  try {
    const { ip, denial }: { ip?: unknown; denial?: Denial } = JSON.parse(text)
    return { ipTruncated: typeof ip === "string" ? ip : null, ...(denial !== undefined && { denial }) }
  } catch {
    return { ipTruncated: null }
  }
}

/**
 * Builds the sealed and stamped row of an event.
 *
 * @param ownerKey The owner's data key. The key is null if it was erased; the personal fields are dropped then.
 */
export function sealRow(
  event: AuditEvent,
  ownerKey: { readonly owner: string; readonly key: Uint8Array | null } | null,
  seals: AuditCrypto,
): AuditRow & { readonly stamp: Uint8Array } {
  const personal = personalOf(event)
  const key = ownerKey?.key ?? null
  const sealed =
    personal === null || key === null ? null : seals.seal(key, personalLabel(event.id), personalText(personal))
  const { denial, ...open } = event
  const { id, route } = event.request
  const row = { ...open, request: { id, route }, keyOwner: ownerKey?.owner ?? null, personalSealed: sealed }
  return { ...row, stamp: seals.stamp(stampedText(row)) }
}

/**
 * Returns the event of a row. If its key was deleted, the event is marked as erased. Personal fields that cannot be
 * decrypted are null; verifying the stamp of such a row reports the change.
 */
export function decryptRow(row: AuditRow, key: Uint8Array | undefined, seals: Pick<AuditCrypto, "open">): AuditEvent {
  const { keyOwner, personalSealed, stamp, request, ...event } = row
  if (keyOwner === null) return { ...event, request: { ...request, ipTruncated: null } }
  if (key === undefined || personalSealed === null) {
    return { ...event, request: { ...request, ipTruncated: null, isErased: true } }
  }
  const opened = seals.open(key, personalLabel(row.id), personalSealed)
  const { ipTruncated, ...rest } = opened === undefined ? { ipTruncated: null } : parsePersonal(opened)
  return { ...event, ...rest, request: { ...request, ipTruncated } }
}

/** The input of the stamp: a JSON array (RFC 8785) with every field but the stamp. */
export const stampedText = (row: Omit<AuditRow, "stamp">): string =>
  JSON.stringify(["signet audit event v1", ...fieldsOf(row)])

/** The input of the event hash in a chain link: every field and the stamp. */
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

/** Encodes bytes as lower-case hexadecimal. */
export function hex(bytes: Uint8Array): string {
  let text = ""
  for (const byte of bytes) text += pairs[byte]
  return text
}
