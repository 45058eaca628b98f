// A sign-in that the service started: what its nonce is bound to.
import { isText, isTime } from "./claim.ts"

export interface SignInTransaction {
  /** As the provider was given it, before any hashing. It names the transaction. */
  readonly nonce: string
  readonly appId: string
  /** Of the provider client. */
  readonly clientId: string
  /** Empty where the client names none. */
  readonly deviceId: string
  /** Where a code is sent to; empty for an ID token. */
  readonly redirectUri: string
  /** Unix time. */
  readonly expiresAt: number
}

export const transactionSeconds = 600

const noncePrefix = "sgn_"

/** @param random At least 24 bytes in base64url. */
export const serverNonce = (random: string): string => noncePrefix + random

/** Whether the service made the nonce: it counts only with its transaction. */
export const isServerNonce = (nonce: string): boolean => nonce.startsWith(noncePrefix)

/** What a sign-in shows. */
export type ShownSignIn = Omit<SignInTransaction, "expiresAt">

/**
 * Which field keeps a sign-in from using its nonce; undefined when none does.
 *
 * @param transaction Undefined when none came, or none that the service sealed.
 * @param shown Its nonce is empty where the request leaves it to the transaction.
 */
export function nonceProblem(
  transaction: SignInTransaction | undefined,
  shown: ShownSignIn,
  nowSeconds: number,
): "transaction" | "expires_at" | "nonce" | "app_id" | "provider" | "device_id" | "redirect_uri" | undefined {
  if (transaction === undefined) return "transaction"
  if (nowSeconds >= transaction.expiresAt) return "expires_at"
  if (shown.nonce !== "" && shown.nonce !== transaction.nonce) return "nonce"
  if (shown.appId !== transaction.appId) return "app_id"
  if (shown.clientId !== transaction.clientId) return "provider"
  if (shown.deviceId !== transaction.deviceId) return "device_id"
  return shown.redirectUri === transaction.redirectUri ? undefined : "redirect_uri"
}

export const formatTransaction = (of: SignInTransaction): string =>
  JSON.stringify([1, of.nonce, of.appId, of.clientId, of.deviceId, of.redirectUri, of.expiresAt])

/** Undefined for what another version sealed. */
export function parseTransaction(text: string): SignInTransaction | undefined {
  const parts: unknown = JSON.parse(text)
  if (!Array.isArray(parts) || parts[0] !== 1) return undefined
  const [, nonce, appId, clientId, deviceId, redirectUri, expiresAt] = parts
  if (!isText(nonce, 64) || !isText(appId, 64) || !isText(clientId, 64)) return undefined
  if (!isText(deviceId, 128) || !isText(redirectUri, 2_048) || !isTime(expiresAt)) return undefined
  return { nonce, appId, clientId, deviceId, redirectUri, expiresAt }
}
