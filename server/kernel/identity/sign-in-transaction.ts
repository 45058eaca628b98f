// A sign-in that this server started, and the values that its nonce is bound to.
import { isText, isTime } from "./claim.ts"

export interface SignInTransaction {
  /** The nonce as sent to the provider, before any hashing. It identifies the transaction. */
  readonly nonce: string
  readonly appId: string
  /** Id of the provider client. */
  readonly clientId: string
  /** Empty if the client names none. */
  readonly deviceId: string
  /** Redirect URI of the code; empty for an ID token. */
  readonly redirectUri: string
  /** Unix time. */
  readonly expiresAt: number
}

export const transactionSeconds = 600

const noncePrefix = "sgn_"

/** @param random At least 24 bytes in base64url. */
export const serverNonce = (random: string): string => noncePrefix + random

/** True if this server created the nonce. Such a nonce is valid only with its transaction. */
export const isServerNonce = (nonce: string): boolean => nonce.startsWith(noncePrefix)

/** The values that a sign-in presents. */
export type ShownSignIn = Omit<SignInTransaction, "expiresAt">

/**
 * Returns the field that prevents a sign-in from using its nonce; undefined if there is none.
 *
 * @param transaction Undefined if none was sent or this server did not seal it.
 * @param shown Its nonce is empty if the request takes it from the transaction.
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

/** Undefined if another version sealed it. */
export function parseTransaction(text: string): SignInTransaction | undefined {
  const parts: unknown = JSON.parse(text)
  if (!Array.isArray(parts) || parts[0] !== 1) return undefined
  const [, nonce, appId, clientId, deviceId, redirectUri, expiresAt] = parts
  if (!isText(nonce, 64) || !isText(appId, 64) || !isText(clientId, 64)) return undefined
  if (!isText(deviceId, 128) || !isText(redirectUri, 2_048) || !isTime(expiresAt)) return undefined
  return { nonce, appId, clientId, deviceId, redirectUri, expiresAt }
}
