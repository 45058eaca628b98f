// How much of what: the windows of each route and the locks of each credential that can be guessed. The numbers are
// the defaults; SIGNET_LIMITS changes them one by one.
import { rates } from "../messaging/limits.ts"

/** A bucket of `limit` calls that fills up again within `seconds`: as many at once, and that rate for good. */
export interface Window {
  limit: number
  seconds: number
}

/** So many failures within `seconds` lock the pair of credential and address, each time twice as long as before. */
export interface LockoutPolicy {
  failures: number
  seconds: number
  lockSeconds: number
  /** The longest lock; with `lockSeconds` all locks are equally long. */
  mostLockSeconds: number
}

const minute = (limit: number): Window => ({ limit, seconds: 60 })

/**
 * By route, then by whose calls are counted. `ip` is the caller's network (/32 of IPv4, /64 of IPv6); everybody else is
 * counted only after having proved who they are, so that nobody uses up what is another's; but for the windows of
 * `strangersMayUseUp`.
 */
export const defaultWindows = {
  sign_in_options: { ip: minute(120) },
  login: { ip: minute(30), device: minute(10) },
  login_email: {
    ip: minute(10),
    email: { limit: 50, seconds: 3_600 },
    /** A device where the owner signed in before, whatever strangers do with the address. */
    device_token: { limit: 10, seconds: 3_600 },
    /** All such devices of the address: whoever knew the password once can have made any number of tokens. */
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
  messaging_fork_report: { device: rates.forkReport },
  messaging_attachment: { device: rates.attachment },
  messaging_part: { device: rates.attachmentPart, user: rates.attachmentPartPerUser },
} as const satisfies Record<string, Record<string, Window>>

/**
 * Windows whose subject anybody can name: an address, a link. What is left of them is told to nobody, because it would
 * tell what others do. `Retry-After` is the same at each of their refusals.
 */
export const strangersMayUseUp: ReadonlySet<string> = new Set(["email", "email_day", "token"])

export const defaultLockouts = {
  client: { failures: 10, seconds: 60, lockSeconds: 60, mostLockSeconds: 60 },
  /** A person's password, guessed from one network. */
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
