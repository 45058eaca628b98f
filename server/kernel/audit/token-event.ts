// A token's id names the audit event that records its issue. Both ids have the same bytes but for the last five bits,
// which number the tokens of one event. So a token is found by its id, and no column or index holds it.
import { type AuditEventId, idBytes, idOf, parseId, type TokenId } from "../ids.ts"

/** The number of tokens that one event can record. */
const tokensPerEvent = 32

/**
 * Returns the id of a token.
 *
 * @param eventId The event of the issue.
 * @param index The token's number among the tokens of the event, from 0.
 * @throws RangeError for the 33rd token of an event.
 */
export function tokenIdOf(eventId: AuditEventId, index = 0): TokenId {
  if (index < 0 || index >= tokensPerEvent) throw new RangeError(`an event records at most ${tokensPerEvent} tokens`)
  return idOf("jti", numbered(idBytes(eventId), index))
}

/** Returns the ids that the event of the token's issue can have: at most one exists. Empty for an impossible id. */
export function eventIdsOf(tokenId: TokenId): readonly AuditEventId[] {
  // A text of more than 128 bits.
  if (tokenId.charAt(4) > "7") return []
  const bytes = idBytes(tokenId)
  return Array.from({ length: tokensPerEvent }, (_, index) => idOf("aud", numbered(bytes, index)))
}

/** Returns the ids of events that a target's id names besides its own: an event's, and a token's. */
export function eventsNamedBy(targetId: string): readonly AuditEventId[] {
  const tokenId = parseId("jti", targetId)
  if (tokenId !== undefined) return eventIdsOf(tokenId)
  const eventId = parseId("aud", targetId)
  return eventId === undefined ? [] : [eventId]
}

function numbered(bytes: Uint8Array, index: number): Uint8Array {
  const next = Uint8Array.from(bytes)
  next[15] = ((next[15] ?? 0) & ~(tokensPerEvent - 1)) | index
  return next
}
