// A denial as a problem document (RFC 9457) with its challenge (RFC 6750), for targets without Connect.
import type { Deny } from "@signet/kernel/authz/authorize"
import { type Reason, Refused, refusals } from "@signet/kernel/errors"
import { challengeOf } from "./challenge.ts"

/** A problem document (RFC 9457) with reason, domain and metadata of google.rpc.ErrorInfo. */
export interface GuardProblem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly reason: Reason
  readonly domain: "signet"
  readonly metadata: Readonly<Record<string, string>>
}

export function refusedOf(deny: Deny): Refused {
  return new Refused(deny.reason, { message: deny.safeMessage, metadata: { ...deny.metadata } })
}

export function problemOf(refused: Refused): GuardProblem {
  const { reason, status, message, metadata } = refused
  return {
    type: `urn:signet:reason:${reason}`,
    title: refusals[reason].message,
    status,
    detail: message,
    reason,
    domain: "signet",
    metadata,
  }
}

/** The headers of a problem response, with lower-case names. */
export function problemHeaders(refused: Refused): Record<string, string> {
  const challenge = challengeOf(refused)
  return {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    ...(challenge === undefined ? {} : { "www-authenticate": challenge }),
  }
}
