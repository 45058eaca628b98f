// Checks the claims of a provider's notifications. server/providers verifies signature and keys.

import type { ProviderAccount, ProviderClient } from "../records.ts"
import { isOneOf, isPast, isText, isTime, skewSeconds } from "./claim.ts"
import type { ProviderNotification } from "./provider-ports.ts"

/** Maximum age of a notification in seconds: the provider retries for a day. */
const maxAgeSeconds = 86_400

/** The provider uses both spellings of the deletion. */
const changes: Readonly<Record<string, ProviderNotification["change"]>> = {
  "consent-revoked": "CONSENT_REVOKED",
  "account-delete": "ACCOUNT_DELETED",
  "account-deleted": "ACCOUNT_DELETED",
  "email-disabled": "EMAIL_DISABLED",
  "email-enabled": "EMAIL_ENABLED",
}

type NotificationJudgment = { is: "ok"; notification: ProviderNotification } | { is: "refuse"; claim: string }

/** The clients of IDP_B that a notification for this audience concerns. */
export function addressees(clients: readonly ProviderClient[], aud: unknown): readonly ProviderClient[] {
  return clients.filter(
    ({ provider, providerTenant, audiences }) =>
      provider === "IDP_B" && providerTenant !== null && isOneOf(aud, audiences),
  )
}

/**
 * Checks that a verified notification of IDP_B is for this client, and returns its content.
 *
 * `events` is one event, as JSON in a string. Its time is in milliseconds or seconds, depending on the provider, and is
 * not used.
 *
 * @param nowSeconds Unix time.
 */
export function judgeNotification(
  claims: Readonly<Record<string, unknown>>,
  client: ProviderClient,
  nowSeconds: number,
): NotificationJudgment {
  const refuse = (claim: string): NotificationJudgment => ({ is: "refuse", claim })
  const { iss, aud, iat, exp, jti } = claims
  if (!isOneOf(iss, client.issuers)) return refuse("iss")
  if (!isOneOf(aud, client.audiences)) return refuse("aud")
  if (!isPast(iat, nowSeconds) || nowSeconds > iat + maxAgeSeconds) return refuse("iat")
  if (exp !== undefined && (!isTime(exp) || nowSeconds >= exp + skewSeconds)) return refuse("exp")
  if (!isText(jti, 255) || jti === "") return refuse("jti")
  const event = parseEvent(claims.events)
  const change = typeof event?.type === "string" && Object.hasOwn(changes, event.type) ? changes[event.type] : undefined
  if (event === undefined || change === undefined) return refuse("events")
  const { sub, event_time } = event
  if (!isText(sub, 255) || sub === "") return refuse("events.sub")
  if (typeof event_time !== "number" || !Number.isFinite(event_time) || event_time <= 0)
    return refuse("events.event_time")
  return {
    is: "ok",
    notification: {
      id: jti,
      issuer: client.canonicalIssuer,
      providerTenant: client.providerTenant,
      subject: sub,
      change,
      expiresAtMs: Math.ceil(iat + maxAgeSeconds + 1) * 1000,
    },
  }
}

interface AccountChange {
  account: ProviderAccount
  /** True if the account's sessions end. */
  isEnded: boolean
}

/**
 * Returns the account after the notification; undefined if nothing changes. An account that is BLOCKED or UNLINKED
 * keeps its status; its sessions have already ended. A withdrawn consent also ends the provider's refresh token.
 */
export function applyNotification(
  account: ProviderAccount,
  change: ProviderNotification["change"],
): AccountChange | undefined {
  switch (change) {
    case "CONSENT_REVOKED":
    case "ACCOUNT_DELETED": {
      if (account.status !== "LINKED") {
        if (account.refreshTokenSealed === null) return undefined
        return { account: { ...account, refreshTokenSealed: null }, isEnded: false }
      }
      return { account: { ...account, status: "REVOKED", refreshTokenSealed: null }, isEnded: true }
    }
    case "EMAIL_DISABLED":
    case "EMAIL_ENABLED": {
      const isContactable = change === "EMAIL_ENABLED"
      return account.isContactable === isContactable
        ? undefined
        : { account: { ...account, isContactable }, isEnded: false }
    }
  }
}

function parseEvent(events: unknown): Record<string, unknown> | undefined {
  if (typeof events !== "string") return undefined
  try {
    const value: unknown = JSON.parse(events)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value))
      : undefined
  } catch {
    return undefined
  }
}
