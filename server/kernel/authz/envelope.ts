// Checks whether an envelope may be delivered here and whether its chain is consistent. Signatures and certificates
// were verified before.
import type { Reason } from "../errors.ts"
import type { PrincipalId } from "../ids.ts"
import { isPostable, parseMailbox } from "../machine/mailbox.ts"
import { skewSeconds } from "../token/claims.ts"

/** Lifetime of an envelope, in seconds. */
export const envelopeSeconds = { default: 86_400, max: 7 * 86_400 } as const

/** Maximum number of times a message may be forwarded. */
export const maxHops = 16

/** The verified envelope, with its sender as the sender's certificate describes it. */
export interface Envelope {
  readonly id: string
  readonly sender: {
    readonly principalId: PrincipalId
    readonly clientId: string
    /** Patterns of the mailboxes that it may post to. */
    readonly mailboxes: readonly string[]
    /** Audiences of the sender itself: a message to `audience/…` of one of these is addressed to it. */
    readonly ownedAudiences: readonly string[]
  }
  readonly mailbox: string
  /** Empty in a forwarded envelope. */
  readonly contextToken: string
  readonly scopes: readonly string[]
  readonly causationId: string
  readonly correlationId: string
  /** Digest of the payload. */
  readonly digest: string
  /** Digest of the previous envelope; empty in the first. */
  readonly parentDigest: string
  readonly hop: number
  /** Seconds since the Unix epoch. */
  readonly iat: number
  readonly exp: number
}

export interface Place {
  readonly mailbox: string
  /** Client ids or principal ids that may post here; undefined for every sender with a certificate. */
  readonly senders: readonly string[] | undefined
  readonly nowMs: number
}

/** Returns why the envelope cannot be delivered to this mailbox now; undefined if it can. */
export function misdelivery({ sender, ...envelope }: Envelope, place: Place): Reason | undefined {
  if (!isPostable(sender.mailboxes, envelope.mailbox)) return "ENVELOPE_SENDER_NOT_ALLOWED"
  const isWanted = place.senders?.some((one) => one === sender.clientId || one === sender.principalId) ?? true
  if (!isWanted) return "ENVELOPE_SENDER_NOT_ALLOWED"
  if (envelope.mailbox !== place.mailbox) return "ENVELOPE_MAILBOX_MISMATCH"
  const now = place.nowMs / 1_000
  if (envelope.exp - envelope.iat > envelopeSeconds.max) return "ENVELOPE_TOO_LONG_LIVED"
  if (envelope.exp + skewSeconds <= now || envelope.exp <= envelope.iat) return "ENVELOPE_EXPIRED"
  return envelope.iat > now + skewSeconds ? "ENVELOPE_NOT_YET_VALID" : undefined
}

/**
 * Returns why the chain is invalid; undefined if it is valid. Each envelope must name its predecessor's digest, be
 * sealed by the predecessor's recipient, and widen neither scopes nor expiry.
 *
 * @param chain At least one envelope, the first sender's first.
 */
export function brokenChain(chain: readonly Envelope[]): Reason | undefined {
  if (chain.length > maxHops + 1) return "ENVELOPE_HOP_LIMIT"
  for (const [hop, envelope] of chain.entries()) {
    const parent = chain[hop - 1]
    if (envelope.hop !== hop) return "ENVELOPE_CHAIN_BROKEN"
    const problem = parent === undefined ? notFirst(envelope) : notFollowing(envelope, parent)
    if (problem !== undefined) return problem
  }
  return undefined
}

function notFirst({ parentDigest, exp, iat }: Envelope): Reason | undefined {
  if (parentDigest !== "") return "ENVELOPE_CHAIN_BROKEN"
  // Later envelopes expire no later than the first.
  return exp - iat > envelopeSeconds.max ? "ENVELOPE_TOO_LONG_LIVED" : undefined
}

function notFollowing(envelope: Envelope, parent: Envelope): Reason | undefined {
  const follows =
    envelope.parentDigest === parent.digest &&
    envelope.causationId === parent.id &&
    envelope.correlationId === parent.correlationId &&
    envelope.contextToken === "" &&
    envelope.exp <= parent.exp &&
    envelope.iat + skewSeconds >= parent.iat
  if (!follows) return "ENVELOPE_CHAIN_BROKEN"
  if (!isPostable(parent.sender.mailboxes, parent.mailbox)) return "ENVELOPE_SENDER_NOT_ALLOWED"
  const receiver = parseMailbox(parent.mailbox)?.audience
  if (receiver === undefined || !envelope.sender.ownedAudiences.includes(receiver)) return "ENVELOPE_NOT_FORWARDERS"
  return isWithin(envelope.scopes, parent.scopes) ? undefined : "ENVELOPE_SCOPES_WIDENED"
}

/** True if every scope was granted. */
export const isWithin = (scopes: readonly string[], given: readonly string[]): boolean =>
  scopes.every((scope) => given.includes(scope))
