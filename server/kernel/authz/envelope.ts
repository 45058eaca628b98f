// May an envelope be delivered here, and does each of a chain follow from the one before it? Pure: signatures and
// certificates were verified before.
import type { Reason } from "../errors.ts"
import type { PrincipalId } from "../ids.ts"
import { isPostable, parseMailbox } from "../machine/mailbox.ts"
import { skewSeconds } from "../token/claims.ts"

/** How long an envelope may live, in seconds. */
export const envelopeSeconds = { default: 86_400, max: 7 * 86_400 } as const

/** How often a message may be forwarded. */
export const maxHops = 16

/** What a verified envelope says, and what the certificate says of its sender. */
export interface Envelope {
  readonly id: string
  readonly sender: {
    readonly principalId: PrincipalId
    readonly clientId: string
    /** Mailboxes that it may post to, as patterns. */
    readonly mailboxes: readonly string[]
    /** What it is: who posts to `audience/…` of these posts to it. */
    readonly ownedAudiences: readonly string[]
  }
  readonly mailbox: string
  /** Empty in a forwarded envelope. */
  readonly contextToken: string
  readonly scopes: readonly string[]
  readonly causationId: string
  readonly correlationId: string
  /** Of the payload. */
  readonly digest: string
  /** That of the envelope before this one; empty for the first. */
  readonly parentDigest: string
  readonly hop: number
  /** Seconds since the Unix epoch. */
  readonly iat: number
  readonly exp: number
}

export interface Place {
  readonly mailbox: string
  /** Client ids or principals that may post here; undefined for all whom the service lets. */
  readonly senders: readonly string[] | undefined
  readonly nowMs: number
}

/** Why the envelope is not for this mailbox now; undefined when it is. */
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
 * Why the chain does not lead here; undefined when it does. Every envelope names the one before it by its digest, was
 * sealed by whom that one was posted to, and carries no more than that one: no scope, and no time.
 *
 * @param chain The first sender's envelope first; at least one.
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
  // Those that follow live no longer.
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

/** Whether the scopes are all among those that were given. */
export const isWithin = (scopes: readonly string[], given: readonly string[]): boolean =>
  scopes.every((scope) => given.includes(scope))
