// Rules for service accounts and the life cycle of their secrets and keys.
import { isOwnKey } from "../administration/scopes.ts"
import type { Reason } from "../errors.ts"
import type { ServiceAccountId } from "../ids.ts"
import type { App } from "../records.ts"
import type { ServiceAccount, ServiceKey, ServiceSecret } from "./records.ts"

const dayMs = 86_400_000

/** Lifetime of a secret, and how long a replaced secret stays valid. */
const secretLifeDays = { default: 180, max: 365 } as const
const overlapMs = { default: dayMs, max: 7 * dayMs } as const

/** Enough for a rotation. Every further secret is one more that can leak. */
const maxSecrets = 2
const maxKeys = 4

type SecretState = "ACTIVE" | "EXPIRED" | "REVOKED"

/** The expiry is exclusive. */
export function secretState(secret: Pick<ServiceSecret, "revokedAtMs" | "expiresAtMs">, nowMs: number): SecretState {
  if (secret.revokedAtMs !== null && secret.revokedAtMs < secret.expiresAtMs) return "REVOKED"
  return nowMs < secret.expiresAtMs ? "ACTIVE" : "EXPIRED"
}

type Asked = Pick<
  ServiceAccount,
  "tenantId" | "authMethods" | "ownedAudiences" | "allowedAudiences" | "scopes" | "defaultScopes"
>

/**
 * Returns why an account cannot be created; undefined if it can. The audiences that it owns and calls must be the
 * app's. It gets no scope of the auth service that its creator lacks, which would be privilege escalation.
 *
 * @param grounds.makerScopes Scopes of the creator's token for the auth service.
 */
export function accountProblem(
  asked: Asked,
  grounds: { app: Pick<App, "audiences" | "scopes">; authAudience: string; makerScopes: ReadonlySet<string> },
): { reason: Reason; field: string } | undefined {
  const { app, authAudience, makerScopes } = grounds
  const own = new Set(app.audiences.filter((audience) => audience !== authAudience))
  // An audience has one owner in the installation, and a tenant's administrator must not claim one that the whole app
  // uses.
  if (asked.tenantId !== null && asked.ownedAudiences.length > 0) {
    return { reason: "INVALID_FIELD", field: "owned_audiences" }
  }
  // The auth service's own audience has no owner: introspection and delegation trust an audience's owner.
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
 * True if this administrator may obtain a credential of the account. A credential lets its holder act as the service,
 * so the administrator needs every scope of the auth service that the account has.
 */
export function mayHaveCredential({ scopes }: Pick<ServiceAccount, "scopes">, makerScopes: ReadonlySet<string>) {
  return scopes.every((key) => !isOwnKey(key) || makerScopes.has(key))
}

/**
 * Returns the expiry of a new secret, in milliseconds; undefined if the account already has the maximum number.
 *
 * @param lifeDays 0 means the default lifetime.
 * @throws RangeError if the lifetime exceeds the maximum.
 */
export function planSecret(
  secrets: readonly ServiceSecret[],
  lifeDays: number,
  nowMs: number,
): { expiresAtMs: number } | undefined {
  if (!Number.isInteger(lifeDays) || lifeDays < 0 || lifeDays > secretLifeDays.max) {
    throw new RangeError("the lifetime of a secret must be 1 to 365 days")
  }
  if (liveSecrets(secrets, nowMs).length >= maxSecrets) return undefined
  return { expiresAtMs: nowMs + (lifeDays || secretLifeDays.default) * dayMs }
}

interface SecretRotation {
  /** Expiry of the new secret. */
  expiresAtMs: number
  /** The live secrets and the expiry of each: never later than before. */
  replaced: readonly { secret: ServiceSecret; expiresAtMs: number }[]
}

/**
 * Plans the replacement of a service's secret. The old one stays valid for the overlap; without an overlap every live
 * secret ends now. Undefined if two secrets are live and an overlap is requested.
 *
 * @param overlap Milliseconds, 0 to seven days; undefined for the default.
 * @throws RangeError if lifetime or overlap exceeds the maximum.
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

/** Decides whether a key can be added. "there": already added. "revoked": permanently revoked. */
export function planKey(keys: readonly ServiceKey[], kid: string): "add" | "there" | "revoked" | "limit" {
  const known = keys.find((key) => key.kid === kid)
  if (known !== undefined) return known.revokedAtMs === null ? "there" : "revoked"
  return keys.filter((key) => key.revokedAtMs === null).length < maxKeys ? "add" : "limit"
}

/**
 * The `cred_id` of tokens that were issued for a key. Public keys are not secret, so two services may register the same
 * one; revoking it must end only one service's tokens.
 */
export const keyCredentialId = (accountId: ServiceAccountId, kid: string): string => `${accountId}.${kid}`

const liveSecrets = (secrets: readonly ServiceSecret[], nowMs: number): readonly ServiceSecret[] =>
  secrets.filter((secret) => secretState(secret, nowMs) === "ACTIVE")
