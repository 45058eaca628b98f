// What a service may be and may call, and how its secrets and keys come and go.
import { isOwnKey } from "../administration/scopes.ts"
import type { Reason } from "../errors.ts"
import type { ServiceAccountId } from "../ids.ts"
import type { App } from "../records.ts"
import type { ServiceAccount, ServiceKey, ServiceSecret } from "./records.ts"

const dayMs = 86_400_000

/** The life of a secret, and how long a replaced one serves yet. */
export const secretLifeDays = { default: 180, max: 365 } as const
export const overlapMs = { default: dayMs, max: 7 * dayMs } as const

/** As many as a rotation needs, and no more: each is one more that can leak. */
const mostSecrets = 2
const mostKeys = 4

export type SecretState = "ACTIVE" | "EXPIRED" | "REVOKED"

/** A secret serves before its expiry, and not at it. */
export function secretState(secret: Pick<ServiceSecret, "revokedAtMs" | "expiresAtMs">, nowMs: number): SecretState {
  if (secret.revokedAtMs !== null && secret.revokedAtMs < secret.expiresAtMs) return "REVOKED"
  return nowMs < secret.expiresAtMs ? "ACTIVE" : "EXPIRED"
}

type Asked = Pick<
  ServiceAccount,
  "tenantId" | "authMethods" | "ownedAudiences" | "allowedAudiences" | "scopes" | "defaultScopes"
>

/**
 * Why an account may not be made like this; undefined when it may. What it owns and what it calls are audiences of its
 * own app, and it gets no scope of the auth service itself that its maker does not hold: who may make accounts could
 * otherwise make one that may more.
 *
 * @param grounds.makerScopes Of the maker's token, which is for the auth service.
 */
export function accountProblem(
  asked: Asked,
  grounds: { app: Pick<App, "audiences" | "scopes">; authAudience: string; makerScopes: ReadonlySet<string> },
): { reason: Reason; field: string } | undefined {
  const { app, authAudience, makerScopes } = grounds
  const own = new Set(app.audiences.filter((audience) => audience !== authAudience))
  // An audience has one owner in the installation: a tenant's administrator must not take what the whole app uses.
  if (asked.tenantId !== null && asked.ownedAudiences.length > 0) {
    return { reason: "INVALID_FIELD", field: "owned_audiences" }
  }
  // Nobody owns the auth service's own audience: introspection and delegation trust the owner.
  if (!asked.ownedAudiences.every((audience) => own.has(audience))) {
    return { reason: "AUDIENCE_NOT_REGISTERED", field: "owned_audiences" }
  }
  if (!asked.allowedAudiences.every((audience) => audience === authAudience || own.has(audience))) {
    return { reason: "AUDIENCE_NOT_REGISTERED", field: "allowed_audiences" }
  }
  const grantable = app.scopes.filter(({ audience }) => asked.allowedAudiences.includes(audience))
  const granted = grantable.filter(({ key }) => asked.scopes.includes(key))
  if (granted.length !== new Set(asked.scopes).size) return { reason: "INVALID_FIELD", field: "scopes" }
  if (granted.some(({ key, audience }) => (audience === authAudience || isOwnKey(key)) && !makerScopes.has(key))) {
    return { reason: "SCOPE_NOT_GRANTED", field: "scopes" }
  }
  if (!asked.defaultScopes.every((scope) => asked.scopes.includes(scope))) {
    return { reason: "INVALID_FIELD", field: "default_scopes" }
  }
  return undefined
}

/**
 * Whether this administrator may have a credential of the account: whoever has one is the service, so nobody gets one
 * of an account with scopes of the auth service that they do not hold.
 */
export function mayHaveCredential({ scopes }: Pick<ServiceAccount, "scopes">, makerScopes: ReadonlySet<string>) {
  return scopes.every((key) => !isOwnKey(key) || makerScopes.has(key))
}

/**
 * When a secret that is added now expires: exactly, in milliseconds. Undefined when there are as many as there may be.
 *
 * @param lifeDays 0 for the usual life.
 * @throws RangeError when the life is over the longest.
 */
export function planSecret(
  secrets: readonly ServiceSecret[],
  lifeDays: number,
  nowMs: number,
): { expiresAtMs: number } | undefined {
  if (!Number.isInteger(lifeDays) || lifeDays < 0 || lifeDays > secretLifeDays.max) {
    throw new RangeError("the lifetime of a secret must be 1 to 365 days")
  }
  if (liveSecrets(secrets, nowMs).length >= mostSecrets) return undefined
  return { expiresAtMs: nowMs + (lifeDays || secretLifeDays.default) * dayMs }
}

export interface SecretRotation {
  /** Of the new secret. */
  expiresAtMs: number
  /** The live ones and when each of them ends: never later than before. */
  replaced: readonly { secret: ServiceSecret; expiresAtMs: number }[]
}

/**
 * What replacing a service's secret does. The old one serves for the overlap, exactly; without an overlap every live one
 * ends now. Undefined when two are live and there is to be an overlap.
 *
 * @param overlap Milliseconds, 0 to seven days; undefined for the usual.
 * @throws RangeError when life or overlap are over the longest.
 */
export function planRotation(
  secrets: readonly ServiceSecret[],
  asked: { lifeDays: number; overlap: number | undefined },
  nowMs: number,
): SecretRotation | undefined {
  const overlap = asked.overlap ?? overlapMs.default
  if (!(overlap >= 0 && overlap <= overlapMs.max)) throw new RangeError("the overlap must be 0 to 7 days")
  const live = liveSecrets(secrets, nowMs)
  const planned = planSecret(overlap === 0 ? [] : secrets, asked.lifeDays, nowMs)
  if (planned === undefined) return undefined
  const replaced = live.map((secret) => ({ secret, expiresAtMs: Math.min(secret.expiresAtMs, nowMs + overlap) }))
  return { ...planned, replaced }
}

/** What adding a key means: it is new, it is there, it was revoked for ever, or there are too many. */
export function planKey(keys: readonly ServiceKey[], kid: string): "add" | "there" | "revoked" | "limit" {
  const known = keys.find((key) => key.kid === kid)
  if (known !== undefined) return known.revokedAtMs === null ? "there" : "revoked"
  return keys.filter((key) => key.revokedAtMs === null).length < mostKeys ? "add" : "limit"
}

/**
 * The `cred_id` of tokens that a key was proved for. A public key is no secret, so two services may have registered the
 * same one: who revokes it ends its own tokens and nobody else's.
 */
export const keyCredentialId = (accountId: ServiceAccountId, kid: string): string => `${accountId}.${kid}`

const liveSecrets = (secrets: readonly ServiceSecret[], nowMs: number): readonly ServiceSecret[] =>
  secrets.filter((secret) => secretState(secret, nowMs) === "ACTIVE")
