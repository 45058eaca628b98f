// Rate limits of each route and lockouts of each guessable credential. These are the defaults; SIGNET_LIMITS overrides
// single values.
import { rates } from "../messaging/limits.ts"

/** A bucket of `limit` calls that refills within `seconds`: it sets both the burst and the sustained rate. */
export interface Window {
  limit: number
  seconds: number
}

/**
 * `failures` failures within `seconds` lock the pair of credential and address. Each lock lasts twice as long as the
 * previous one.
 */
export interface LockoutPolicy {
  failures: number
  seconds: number
  lockSeconds: number
  /** Maximum lock time. If it equals `lockSeconds`, all locks last equally long. */
  mostLockSeconds: number
}

const minute = (limit: number): Window => ({ limit, seconds: 60 })

/**
 * Windows by route and subject. `ip` is the caller's network (/32 of IPv4, /64 of IPv6). Other subjects are counted
 * only after authentication, so that nobody can exhaust another's limit; `strangersMayUseUp` lists the exceptions.
 */
export const defaultWindows = {
  sign_in_options: { ip: minute(120) },
  login: { ip: minute(30), device: minute(10) },
  login_email: {
    ip: minute(10),
    email: { limit: 50, seconds: 3_600 },
    /** Calls of a device where the owner has signed in, counted apart from other attempts on the address. */
    device_token: { limit: 10, seconds: 3_600 },
    /** Calls of all such devices: a person who once knew the password may have created any number of tokens. */
    device_tokens: { limit: 30, seconds: 3_600 },
  },
  magic_link_start: {
    ip: minute(5),
    email: { limit: 3, seconds: 900 },
    email_day: { limit: 20, seconds: 86_400 },
  },
  magic_link_confirm: { ip: minute(20), token: { limit: 5, seconds: 86_400 } },
  notification: { ip: minute(600) },
  refresh: { ip: minute(120), session: minute(30) },
  client_credentials: { ip: minute(600), client: minute(300) },
  pat: { ip: minute(120), pat: minute(60) },
  on_behalf_of: { actor: minute(600), pair: minute(60) },
  introspect: { caller: minute(6_000) },
  revoke: { ip: minute(600) },
  admin_write: { caller: minute(60) },
  messaging_backend: { caller: minute(6_000), user: minute(600) },
  messaging_register: { ask: minute(60), user: rates.register },
  messaging_upload: { device: { limit: 60, seconds: 3_600 } },
  messaging_claim: { user: rates.claim, target: rates.claimPerTarget },
  messaging_create: { user: rates.createConversation },
  messaging_append: { device: rates.append },
  messaging_commit: { device: rates.commit, conversation: rates.commit },
  messaging_change: { device: rates.change },
  messaging_stream: { device: rates.stream },
  messaging_reset: { user: rates.reset },
  messaging_rejoin: { device: rates.rejoin },
  messaging_admission: { device: rates.admission },
  messaging_resubmit: { device: rates.resubmit },
  messaging_fork_report: { device: rates.forkReport },
  messaging_attachment: { device: rates.attachment },
  messaging_part: { device: rates.attachmentPart, user: rates.attachmentPartPerUser },
} as const satisfies Record<string, Record<string, Window>>

/**
 * Windows whose subject anyone can name: an address or a link. Responses do not state their remaining calls, which
 * would reveal other callers' activity. `Retry-After` is constant for their refusals.
 */
export const strangersMayUseUp: ReadonlySet<string> = new Set(["email", "email_day", "token"])

const defaultLockouts = {
  client: { failures: 10, seconds: 60, lockSeconds: 60, mostLockSeconds: 60 },
  /** Guesses of a user's password from one network. */
  email: { failures: 5, seconds: 900, lockSeconds: 900, mostLockSeconds: 86_400 },
} as const satisfies Record<string, LockoutPolicy>

export type Route = keyof typeof defaultWindows
export type WindowName<R extends Route> = keyof (typeof defaultWindows)[R] & string
export type LockoutName = keyof typeof defaultLockouts

export interface Limits {
  windows: { readonly [R in Route]: { readonly [W in WindowName<R>]: Window } }
  lockouts: { readonly [L in LockoutName]: LockoutPolicy }
}

export const defaultLimits: Limits = { windows: defaultWindows, lockouts: defaultLockouts }
