// The stored record of a sign-in, and its format. Access tokens are not stored.
import type { SignedInUser } from "./session.ts"

export interface SessionRecord {
  readonly user: SignedInUser
  /** Absent if a cookie contains it. */
  readonly refreshToken: string | undefined
  /** Created when the refresh token was received; sent every time that token is presented. */
  readonly retryKey: string
  /** The number of refreshes, including the sign-in. */
  readonly generation: number
  /** The expiry of the access tokens that came with it: until then other tabs may have them. Milliseconds. */
  readonly tokensGoodUntilMs: number
}

const format = 1

export function encodeRecord(record: SessionRecord): Uint8Array {
  const { user, refreshToken, retryKey, generation, tokensGoodUntilMs } = record
  return utf8(JSON.stringify({ format, user, refreshToken, retryKey, generation, tokensGoodUntilMs }))
}

/** @returns Undefined for bytes that this version did not write. */
export function parseRecord(bytes: Uint8Array): SessionRecord | undefined {
  const { format: version, user, refreshToken, retryKey, generation, tokensGoodUntilMs } = fieldsOf(bytes)
  const known = parseUser(user)
  const isKnown = version === format && known !== undefined && isText(retryKey) && isOptionalText(refreshToken)
  if (!isKnown || typeof generation !== "number" || typeof tokensGoodUntilMs !== "number") return undefined
  return { user: known, refreshToken, retryKey, generation, tokensGoodUntilMs }
}

function parseUser(value: unknown): SignedInUser | undefined {
  const { sessionId, identityId, principalId, primaryEmail, tenantId, contextId } = objectOf(value)
  if (!isText(sessionId) || !isText(identityId) || !isText(principalId)) return undefined
  if (!isOptionalText(primaryEmail) || !isOptionalText(tenantId) || !isOptionalText(contextId)) return undefined
  return { sessionId, identityId, principalId, primaryEmail, tenantId, contextId }
}

/** Named texts that outlive a page but are no session. */
export type Note = Readonly<Record<string, string>>

export const encodeNote = (note: Note): Uint8Array => utf8(JSON.stringify(note))

export function parseNote(bytes: Uint8Array): Note {
  const texts = Object.entries(fieldsOf(bytes)).flatMap(([name, value]) => (isText(value) ? [[name, value]] : []))
  return Object.fromEntries(texts)
}

export const isText = (value: unknown): value is string => typeof value === "string" && value !== ""
const isOptionalText = (value: unknown): value is string | undefined => value === undefined || isText(value)

const utf8 = (text: string) => new TextEncoder().encode(text)

function fieldsOf(bytes: Uint8Array): Record<string, unknown> {
  try {
    return objectOf(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)))
  } catch {
    return {}
  }
}

export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {}
}
