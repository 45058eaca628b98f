// Rules of push endpoints: which are accepted, when a push is due, and what an answer changes. A push is a hint without
// content, so a lost or late one costs nothing but time.
import { serverHostOf } from "../administration/address.ts"
import type { AuditEvent } from "../audit/event.ts"
import type { ConversationId, DeviceId, PrincipalId, SessionId } from "../ids.ts"

export type PushKind = "WEB_PUSH" | "WEBHOOK"

/** Where a device is woken up. A device has at most one. */
export interface PushEndpoint {
  readonly deviceId: DeviceId
  /** The endpoint ends with this session. */
  readonly sessionId: SessionId
  /** 16 random bytes, new with each registration. */
  readonly registrationId: Uint8Array
  readonly kind: PushKind
  readonly url: string
  /** Failed attempts of the current push. */
  readonly tries: number
}

export const pushLimits = {
  /** A device gets at most one push in this time, in milliseconds. */
  everyMs: 5_000,
  /** A push is delayed by up to this time, so that pushes of one message cannot be matched by their time. */
  jitterMs: 2_000,
  /** How long a push service keeps a push for a device that is offline, in seconds. */
  ttlSeconds: 86_400,
  timeoutMs: 10_000,
  maxResponseBytes: 4_096,
  /** Attempts for one push. */
  tries: 3,
  retryMs: 60_000,
  /** A store that does not see sessions end checks each endpoint at this interval. */
  checkMs: 86_400_000,
  longestRetryMs: 3_600_000,
} as const

/** The endpoints that the operator allows. */
export interface PushPolicy {
  readonly kinds: readonly PushKind[]
  /** Host names; `*.example` allows each subdomain of any depth, and not the name itself. */
  readonly hosts: readonly string[]
  /** Development only. The loopback host must be listed, too. */
  readonly isLoopbackAllowed: boolean
}

/**
 * True for an https URL on port 443 at a listed, public host name. The address to which the name resolves is checked
 * when a push is sent.
 */
export function isPushAddress(url: string, { hosts, isLoopbackAllowed }: PushPolicy): boolean {
  const host = serverHostOf(url, isLoopbackAllowed)
  if (host === undefined) return false
  return hosts.some((listed) => (listed.startsWith("*.") ? host.endsWith(listed.slice(1)) : host === listed))
}

/** Checked when an endpoint is set and before each push: the operator may have removed its host since. */
export const isPushAllowed = ({ kind, url }: Pick<PushEndpoint, "kind" | "url">, policy: PushPolicy): boolean =>
  policy.kinds.includes(kind) && isPushAddress(url, policy)

/** True for an entry of the operator's list: a lower-case host name, or `*.` and one. */
export function isPushHost(text: string, isLoopbackAllowed: boolean): boolean {
  const name = text.replace(/^\*\./, "")
  return serverHostOf(`https://${name}/`, isLoopbackAllowed && name === text) === name
}

/**
 * When the next push of a device is sent. The delay is new after each wait: devices that were pushed together would
 * otherwise be pushed together again.
 *
 * @param notBeforeMs The end of the device's last interval or of a wait that its push service asked for.
 * @param random From 0 to 1, exclusive.
 */
export const pushDueAt = (notBeforeMs: number, nowMs: number, random: number): number =>
  Math.max(nowMs, notBeforeMs) + Math.floor(random * pushLimits.jitterMs)

/** The devices that a change concerns. */
export type PushTargets =
  /** The members of a conversation, except the devices of one user. */
  | { readonly conversationId: ConversationId; readonly exceptUserId: PrincipalId }
  | { readonly deviceIds: readonly DeviceId[] }

export interface PushEndpoints {
  /** Replaces the device's endpoint. A new one gets no push for `pushLimits.everyMs`: another may have been deleted. */
  set(endpoint: Omit<PushEndpoint, "tries">, nowMs: number, audit: AuditEvent): Promise<void>
  /**
   * Deletes the device's endpoint, or only the given registration. Idempotent.
   *
   * @param audit Written if there was an endpoint; null for a deletion that follows from an event of its own.
   */
  delete(deviceId: DeviceId, audit: AuditEvent | null, registrationId?: Uint8Array): Promise<void>
  /** Schedules a push by `pushDueAt` for each of these devices that has an endpoint and no scheduled push. */
  schedule(targets: PushTargets, nowMs: number, random: () => number): Promise<void>
}

/** Endpoints of a store that cannot send by itself. */
export interface DuePushes extends PushEndpoints {
  /** Takes due pushes, each once: its device gets no other one for `pushLimits.everyMs`. */
  takeDue(nowMs: number, limit: number): Promise<readonly PushEndpoint[]>
  /** Records the decision about a taken push. A registration that was replaced stays unchanged. */
  pushed(of: PushEndpoint, decision: PushDecision): Promise<void>
  /** Deletes all endpoints: the operator has disabled pushes. */
  deleteAll(): Promise<void>
}

/** A number from 0 to 1, exclusive, of two random bytes. */
export const fractionOf = ([high = 0, low = 0]: Uint8Array): number => (high * 256 + low) / 65_536

/** The result of one request; undefined for a request without an answer. */
export type PushAnswer = { readonly status: number; readonly retryAfter: string | null } | undefined

export type PushDecision =
  /** The push is delivered, or is given up until the next message. */
  | { readonly is: "done" }
  /** The endpoint does not exist any more. */
  | { readonly is: "delete" }
  | { readonly is: "retry"; readonly atMs: number }

/**
 * Decides what follows from an answer (RFC 8030 sections 5 and 8.4). 404 and 410 end the registration. 429 and 5xx are
 * retried, at the earliest after `Retry-After`, and at most three times in all. Other answers, redirects included, end
 * this push.
 *
 * @param random From 0 to 1, exclusive.
 */
export function decidePushed(tries: number, answer: PushAnswer, nowMs: number, random: number): PushDecision {
  if (answer !== undefined) {
    const { status } = answer
    if (status === 404 || status === 410) return { is: "delete" }
    if (status !== 429 && status < 500) return { is: "done" }
  }
  if (tries + 1 >= pushLimits.tries) return { is: "done" }
  const waitMs = Math.max(retryAfterMs(answer?.retryAfter ?? null, nowMs), pushLimits.retryMs)
  return { is: "retry", atMs: pushDueAt(nowMs + Math.min(waitMs, pushLimits.longestRetryMs), nowMs, random) }
}

/** `Retry-After` in seconds or as a date (RFC 9110 section 10.2.3); 0 without a readable one. */
function retryAfterMs(text: string | null, nowMs: number): number {
  if (text === null) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? 0 : Math.max(0, atMs - nowMs)
}
